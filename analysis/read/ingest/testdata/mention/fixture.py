import unittest

class Test(unittest.TestCase):
    def test_one(self):
        text = """
goroutine 5 [chan receive, 3 minutes]:
main.wait(0x1)
	/src/main.go:12 +0x1d
created by main.main
	/src/main.go:8 +0x36
"""
        self.assertEqual(parse(text), 1)

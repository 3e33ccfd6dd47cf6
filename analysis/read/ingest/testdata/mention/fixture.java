package com.example;

class Fixture {
    static final String ONE = """
"main" #1 prio=5 os_prio=0 tid=0x00007f0c28001000 nid=0x1b03 runnable [0x1]
   java.lang.Thread.State: RUNNABLE
	at com.example.Main.main(Main.java:3)
""";
}

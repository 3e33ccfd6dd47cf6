-- Names and words are put into the full-text tables once for each transaction: a row at
-- a time flushes the index for every one of them.
DROP TRIGGER function_text_insert;
DROP TRIGGER family_text_insert;

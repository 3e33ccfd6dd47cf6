-- What became of a case in a word or two, as its page says it: "leaking until t7".
ALTER TABLE cases ADD COLUMN state TEXT NOT NULL DEFAULT '';

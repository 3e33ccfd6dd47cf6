package capture

import (
	"bytes"
	"encoding/json"
)

// withoutSecrets copies a diagnostic report of Node without its environment, at any depth,
// and with the secrets of its command line masked. All else stays as it is, in its order.
// Text that is no JSON is an error.
//
//	{"header": {"commandLine": ["node", "--token=x"]}, "environmentVariables": {…}}
//	{"header": {"commandLine": ["node", "--token=***"]}}
func withoutSecrets(report []byte) ([]byte, error) {
	in := json.NewDecoder(bytes.NewReader(report))
	in.UseNumber()
	var out bytes.Buffer
	if err := copyValue(in, &out); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, out.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

func copyValue(in *json.Decoder, out *bytes.Buffer) error {
	token, err := in.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return copyObject(in, out)
	case json.Delim('['):
		return copyArray(in, out)
	}
	return write(out, token)
}

func copyObject(in *json.Decoder, out *bytes.Buffer) error {
	out.WriteByte('{')
	for first := true; in.More(); {
		key, err := in.Token()
		if err != nil {
			return err
		}
		if key == "environmentVariables" {
			var dropped json.RawMessage
			if err := in.Decode(&dropped); err != nil {
				return err
			}
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		if err := write(out, key); err != nil {
			return err
		}
		out.WriteByte(':')
		copyOne := copyValue
		if key == "commandLine" {
			copyOne = copyCommandLine
		}
		if err := copyOne(in, out); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	_, err := in.Token()
	return err
}

func copyArray(in *json.Decoder, out *bytes.Buffer) error {
	out.WriteByte('[')
	for first := true; in.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		if err := copyValue(in, out); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	_, err := in.Token()
	return err
}

// copyCommandLine demands an array of words, since nothing else can be masked.
func copyCommandLine(in *json.Decoder, out *bytes.Buffer) error {
	var words []string
	if err := in.Decode(&words); err != nil {
		return err
	}
	line := make([][]byte, len(words))
	for i, word := range words {
		line[i] = []byte(word)
	}
	for i, word := range maskedWords(line) {
		words[i] = string(word)
	}
	return write(out, words)
}

func write(out *bytes.Buffer, value any) error {
	to := json.NewEncoder(out)
	to.SetEscapeHTML(false)
	return to.Encode(value)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// watchSchema is the first key of the state of a watched target.
const watchSchema = "leakdiff.watch/1"

// watchState is what a watch must know of a target after its end. It is state.json beside the
// captures.
type watchState struct {
	Schema string `json:"schema"`
	// Told is true from the report with which a verdict began until clearReports were without
	// it. Clear counts those.
	Told  bool `json:"told"`
	Clear int  `json:"clear,omitempty"`
	// Standing is a verdict that was seen and not yet told.
	Standing standing `json:"standing,omitzero"`
	// Captures is how many captures the last report with the verdict was over.
	Captures int `json:"captures,omitempty"`
	// Pending is a push that the server has not answered, nil for none.
	Pending *pendingPush `json:"pending,omitempty"`
	// Case is where the captures of the target are, Key its owner key, Link its page.
	Case string `json:"case,omitempty"`
	Key  string `json:"owner_key,omitempty"`
	Link string `json:"link,omitempty"`
	// Pushed is the time of the last capture that the case has, PushedAt when it was sent.
	Pushed   time.Time `json:"pushed,omitzero"`
	PushedAt time.Time `json:"pushed_at,omitzero"`
}

// pendingPush is an upload of the captures after From up to Upto, whose bytes stay the same
// until it is answered.
type pendingPush struct {
	// ID is its Idempotency-Key: a repetition gets the answer of the first one.
	ID   string    `json:"id"`
	From time.Time `json:"from,omitzero"`
	Upto time.Time `json:"upto"`
	// Sentence is what the report said, "" if the verdict did not begin with it.
	Sentence string `json:"sentence,omitempty"`
	// Refused is true from an answer that no repetition mends. The upload then follows the
	// captures that are kept, with a new ID each time.
	Refused bool `json:"refused,omitempty"`
}

// has reports whether a capture belongs to the upload.
func (p *pendingPush) has(c captured) bool {
	return p != nil && c.at.After(p.From) && !c.at.After(p.Upto)
}

// pins reports whether a capture must be kept for the upload.
func (p *pendingPush) pins(c captured) bool { return p.has(c) && !p.Refused }

const stateFile = "state.json"

// readWatchState returns an empty state if there is none.
func readWatchState(dir string) (watchState, error) {
	state := watchState{Schema: watchSchema}
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err == nil && state.Schema != watchSchema {
		err = fmt.Errorf("its schema is %q, not %q", state.Schema, watchSchema)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(dir, stateFile), err)
	}
	return state, err
}

// write replaces the state whole, also when the machine fails meanwhile.
func (s watchState) write(dir string) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, stateFile)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

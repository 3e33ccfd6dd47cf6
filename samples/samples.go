// Package samples holds real captures with what must be found in them. The
// start page offers them as "try a sample", and the tests read the same bytes.
package samples

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
)

//go:embed */*.tar.gz */found.json
var files embed.FS

// Sample is one capture.
type Sample struct {
	// Name is the directory's name, for URLs.
	Name  string
	Found Found
	// Archive is a tar.gz as a collector would have made it.
	Archive []byte
}

// Found is what a right analysis of a sample says.
type Found struct {
	Title  string   `json:"title"`
	Text   string   `json:"text"`
	Series []Series `json:"series"`
}

// Series is the truth about one process.
type Series struct {
	Process   string           `json:"process"`
	Snapshots int              `json:"snapshots"`
	Totals    map[string][]int `json:"totals"`
	// Growing rows are met by one family or by the sum of those that match.
	Growing []Row `json:"growing"`
	// NotLeaking rows must never be called leaking.
	NotLeaking []Row `json:"not_leaking"`
}

// Row counts the members whose frames, creator and attributes together hold
// every text of Contains.
type Row struct {
	Kind      string   `json:"kind"`
	Contains  []string `json:"contains"`
	CreatedBy string   `json:"created_by"`
	Counts    []int    `json:"counts"`
}

// All returns every sample in the order of their names.
func All() ([]Sample, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	var out []Sample
	for _, e := range entries {
		s := Sample{Name: e.Name()}
		if s.Archive, err = files.ReadFile(path.Join(e.Name(), e.Name()+".tar.gz")); err != nil {
			return nil, fmt.Errorf("samples: %w", err)
		}
		found, err := files.ReadFile(path.Join(e.Name(), "found.json"))
		if err != nil {
			return nil, fmt.Errorf("samples: %w", err)
		}
		if err := json.Unmarshal(found, &s.Found); err != nil {
			return nil, fmt.Errorf("samples: %s: %w", e.Name(), err)
		}
		out = append(out, s)
	}
	return out, nil
}

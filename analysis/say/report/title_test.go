package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindingsOfOneTitleAreToldApartByWhatDiffers(t *testing.T) {
	family := func(print, creator, title string) Family {
		return Family{Fingerprint: print, CreatedBy: creator, Title: title}
	}
	for name, tt := range map[string]struct {
		titles   []string
		families []Family
		want     []string
	}{
		"by who started them": {[]string{"app started 9 readers", "app started 9 readers"},
			[]Family{family("a", "main.dialDB", "main.read"), family("b", "main.dialCache", "main.read")},
			[]string{"app started 9 readers, started by main.dialDB", "app started 9 readers, started by main.dialCache"}},
		"by their group, where one function started both": {[]string{"app started 9 goroutines", "app started 9 goroutines"},
			[]Family{family("a", "main.start", "main.read"), family("b", "main.start", "main.write")},
			[]string{"app started 9 goroutines: main.read", "app started 9 goroutines: main.write"}},
		"titles that differ stay": {[]string{"app started 9 readers", "app started 8 readers"},
			[]Family{family("a", "main.dialDB", "main.read"), family("b", "main.dialCache", "main.read")},
			[]string{"app started 9 readers", "app started 8 readers"}},
	} {
		s := &Series{Families: tt.families}
		for i, title := range tt.titles {
			s.Findings = append(s.Findings, Finding{Title: title, Families: []string{tt.families[i].Fingerprint}})
		}
		s.tellApart()
		var got []string
		for _, f := range s.Findings {
			got = append(got, f.Title)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"leakdiff/server/intake"
)

// TestWhatChangesOrRevealsACaseNeedsItsKeyWhereOthersReachTheServer sends requests without
// a key, with the key of another case, and with the owner's key, by header and by form.
func TestWhatChangesOrRevealsACaseNeedsItsKeyWhereOthersReachTheServer(t *testing.T) {
	s := startSite(t, openStore(t), Config{Listen: "192.0.2.1:8080"})
	up, other := s.put("dump.txt", []byte(tinyDump)), s.put("other.txt", []byte(dumpOf(4)))
	asked := map[string]struct {
		path, body, kind string
		status           int
	}{
		"reading again":                {"/bundles/" + up.ID + "/read", "", formType, 303},
		"cancelling":                   {"/bundles/" + up.ID + "/cancel", "", formType, 303},
		"freezing without redaction":   {"/share", "case=" + up.Case + "&keep=7d", formType, 200},
		"so by the API":                {"/api/v1/permalinks", `{"case":"` + up.Case + `","redact":false}`, jsonKind, 201},
		"so of one of its snapshots":   {"/api/v1/permalinks", `{"view":"/snapshots/` + up.Snapshots[0].ID + `?case=` + up.Case + `","redact":false}`, jsonKind, 201},
		"so of a view without a case":  {"/api/v1/permalinks", `{"view":"/cases/` + up.Case + `","redact":false}`, jsonKind, 201},
		"so with a word for redaction": {"/api/v1/permalinks", `{"case":"` + up.Case + `","redact":false,"preview":"full","title":"mine"}`, jsonKind, 201},
	}
	for name, a := range asked {
		t.Run(name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			for who, key := range map[string]string{"nobody": "", "somebody": "wrong", "another owner": other.OwnerKey} {
				header := []string{"Content-Type", a.kind, "Accept", "application/json"}
				if key != "" {
					header = append(header, "Authorization", "Bearer "+key)
				}
				r := s.do("POST", a.path, strings.NewReader(a.body), header...)
				if r.status != 403 || !strings.Contains(r.body, `"code": "forbidden"`) || !strings.Contains(r.body, "owner key") || !strings.Contains(r.body, "Authorization: Bearer") {
					t.Errorf("%s gets %d: %.400s", who, r.status, r.body)
				}
				if a.kind == formType {
					if r := s.do("POST", a.path, strings.NewReader(a.body+"&key="+url.QueryEscape(key)), "Content-Type", formType); r.status != 403 {
						t.Errorf("%s gets %d by the form", who, r.status)
					}
					// A key in an address would be in logs.
					if r := s.do("POST", a.path+"?key="+up.OwnerKey, strings.NewReader(a.body), "Content-Type", formType); r.status != 403 {
						t.Errorf("a key in the address gives %d", r.status)
					}
				}
			}
			if b := decode[intake.BundleState](t, s.get("/bundles/"+up.ID+".json").body); b.Status != "done" {
				t.Errorf("somebody else made the bundle %s", b.Status)
			}
			if r := s.do("POST", a.path, strings.NewReader(a.body), "Content-Type", a.kind, "Authorization", "Bearer "+up.OwnerKey); r.status != a.status {
				t.Errorf("the owner gets %d: %.400s", r.status, r.body)
			}
			s.settled(up.ID)
			if a.kind == formType {
				if r := s.do("POST", a.path, strings.NewReader(a.body+"&key="+up.OwnerKey), "Content-Type", a.kind); r.status != a.status {
					t.Errorf("the owner gets %d by the form: %.400s", r.status, r.body)
				}
				s.settled(up.ID)
			}
		})
	}
	t.Run("what shows another's case as well needs that key, too", func(t *testing.T) {
		pair := "/diff/" + other.Snapshots[0].ID + ".." + up.Snapshots[0].ID + "?case=" + up.Case + "&acase=" + other.Case
		body := `{"view":"` + pair + `","redact":false}`
		for _, key := range []string{up.OwnerKey, other.OwnerKey} {
			if r := s.do("POST", "/api/v1/permalinks", strings.NewReader(body), "Content-Type", jsonKind, "Authorization", "Bearer "+key); r.status != 403 {
				t.Errorf("one of both owners gets %d: %.300s", r.status, r.body)
			}
		}
	})
	t.Run("with redaction nobody needs a key", func(t *testing.T) {
		if r := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`), "Content-Type", jsonKind); r.status != http.StatusCreated {
			t.Errorf("%d: %.300s", r.status, r.body)
		}
		if r := s.do("POST", "/share", strings.NewReader("case="+up.Case+"&redact=on&keep=7d"), "Content-Type", formType); r.status != 200 {
			t.Errorf("by the form %d", r.status)
		}
	})
	t.Run("the pages ask for it", func(t *testing.T) {
		page := s.get("/bundles/" + up.ID).body
		if form := between(page, `action="/bundles/`+up.ID+`/read"`, "</form>"); !strings.Contains(form, `name="key"`) {
			t.Errorf("reading again: %s", form)
		}
		if form := between(s.get("/share?view="+url.QueryEscape(up.Link)).body, `action="/share"`, "</form>"); !strings.Contains(form, `name="key"`) || strings.Contains(form, `name="key" type="password" autocomplete="off" required`) {
			t.Errorf("sharing: %.1500s", form)
		}
	})
}

func TestAPersonAtHisOwnMachineNeedsNoKey(t *testing.T) {
	s := newSite(t)
	up := s.put("dump.txt", []byte(tinyDump))
	s.run(t, []scenario{
		{name: "reading again", method: "POST", path: "/bundles/" + up.ID + "/read", header: []string{"Content-Type", formType}, status: 303},
		{name: "cancelling", method: "POST", path: "/bundles/" + up.ID + "/cancel", header: []string{"Content-Type", formType}, status: 303},
		{name: "freezing without redaction", method: "POST", path: "/share", body: "case=" + up.Case + "&keep=7d", header: []string{"Content-Type", formType}, status: 200},
		{name: "the page asks for none", path: "/bundles/" + up.ID, status: 200, never: []string{`name="key"`}},
		{name: "a twin that it does not have", path: "/bundles/" + up.ID + ".jira", status: 404, want: []string{"this page has no twin .jira"}},
		{name: "nor does sharing", path: "/share?view=" + url.QueryEscape(up.Link), status: 200, never: []string{`name="key"`}},
		{name: "of a bundle that is none", method: "POST", path: "/bundles/bnone/read", header: []string{"Content-Type", formType}, status: 404},
	})
}

func TestAnOwnerKeyInAnAddressIsNoKey(t *testing.T) {
	s := startSite(t, openStore(t), Config{Listen: "192.0.2.1:8080"})
	up := s.put("dump.txt", []byte(tinyDump))
	for _, path := range []string{up.Link + "/baseline", "/bundles/" + up.ID + "/remove", up.Link + "/delete"} {
		if r := s.do("POST", path+"?key="+up.OwnerKey, strings.NewReader("snapshot="), "Content-Type", formType); r.status != 403 {
			t.Errorf("%s takes a key that stands in logs: %d", path, r.status)
		}
		if r := s.do("POST", path, strings.NewReader("snapshot=&series=&key="+up.OwnerKey), "Content-Type", formType); r.status == 403 {
			t.Errorf("%s does not take the key of its form", path)
		}
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dumpsDir holds three dumps of one process, each with one goroutine more.
func dumpsDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	leak := "\n\ngoroutine %d [chan receive]:\nmain.leak()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d"
	text := "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d"
	for i, name := range []string{"t0", "t1", "t2"} {
		for k := range 4 {
			text += strings.Replace(leak, "%d", string(rune('1'+i))+string(rune('0'+k)), 1)
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "goroutines.txt"), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPushUploadsAndPrintsOneLink(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--no-samples")
	dir := dumpsDir(t)
	one := filepath.Join(dir, "t0", "goroutines.txt")
	var caseID string
	for _, tc := range []struct {
		name   string
		args   []string
		prefix string
		says   string
		status int
	}{
		{"a directory is one case", []string{"--title", "INC-7", dir}, "/cases/", "3 dumps read.\n", 0},
		{"a file as it is", []string{one}, "/cases/", "1 dump read", 0},
		{"several files and directories", []string{one, filepath.Join(dir, "t1")}, "/cases/", "2 dumps read", 0},
		{"frozen at once", []string{"--share", dir}, "/p/", "3 dumps read", 0},
		{"a file of the kernel, which says that it is empty", []string{"/proc/self/limits"}, "/cases/", "limits holds no dump. the link says what each file is", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := execute(t, nil, append([]string{"push", "--server", s.url + "/"}, tc.args...)...)
			if got.status != tc.status || !strings.HasPrefix(got.stdout, s.url+tc.prefix) || strings.Count(got.stdout, "\n") != 1 || !strings.Contains(got.stderr, tc.says) {
				t.Fatalf("status %d\nstdout %q\nstderr %q", got.status, got.stdout, got.stderr)
			}
			if caseID == "" {
				caseID = strings.TrimSpace(strings.TrimPrefix(got.stdout, s.url+"/cases/"))
			}
			page, err := s.request(http.MethodGet, strings.TrimSpace(strings.TrimPrefix(got.stdout, s.url)), nil)
			if err != nil || page.status != 200 {
				t.Errorf("the link gives %d, %v", page.status, err)
			}
		})
	}
	page, err := s.request(http.MethodGet, "/cases/"+caseID, nil)
	if err != nil || !strings.Contains(page.body, "INC-7") {
		t.Errorf("the title is not kept: %v", err)
	}
	if got := execute(t, nil, "push", "--server", s.url, "--case", caseID, one); got.status != 0 || !strings.Contains(got.stdout, caseID) {
		t.Errorf("adding to a case: %+v", got)
	}
}

func TestPushSaysWhatIsWrong(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent to another server")
		}
		w.Write([]byte("<html>"))
	}))
	defer other.Close()
	down := httptest.NewServer(nil)
	down.Close()
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--no-samples")
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/leakdiff"+r.URL.Path, http.StatusFound)
	}))
	defer moved.Close()
	one := filepath.Join(dumpsDir(t), "t0", "goroutines.txt")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no address", []string{"--server", "localhost:8080", one}, "does not begin with http://"},
		{"nobody answers", []string{"--server", down.URL, one}, "the server does not answer"},
		{"another program", []string{"--server", other.URL, one}, "not a leakdiff server"},
		{"a server that sends elsewhere", []string{"--server", moved.URL, "--key", "hunter2", one}, "the server is at " + other.URL + "/leakdiff: nothing was sent there"},
		{"a password in an address", []string{"--server", strings.Replace(down.URL, "//", "//me:hunter2@", 1), one}, down.URL},
		{"no such file", []string{"--server", s.url, one + "x"}, "there is no such file or directory"},
		{"no such case", []string{"--server", s.url, "--case", "cnone", one}, "there is no such case"},
		{"a wrong key", []string{"--server", s.url, "--case", "cnone", "--key", "x", one}, "there is no such case"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := execute(t, nil, append([]string{"push"}, tc.args...)...)
			if got.status != 2 || got.stdout != "" || !strings.Contains(got.stderr, tc.want) || strings.Contains(got.stderr, "panic") || strings.Contains(got.stderr, "hunter2") {
				t.Errorf("status %d\nstdout %q\nstderr %q, want %q", got.status, got.stdout, got.stderr, tc.want)
			}
		})
	}
}

// The server never sends the key again. An error after the upload must not lose it.
func TestPushTellsTheOwnerKeyWhateverComesAfter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		w.Write([]byte(`{"id": "b1", "case": "c1", "link": "/cases/c1", "status": "queued", "owner_key": "the-key"}`))
	}))
	defer server.Close()
	one := filepath.Join(dumpsDir(t), "t0", "goroutines.txt")
	got := execute(t, nil, "push", "--server", server.URL, one)
	if got.status != 2 || strings.Count(got.stderr, "the-key") != 1 {
		t.Errorf("status %d, it says %q", got.status, got.stderr)
	}
}

func TestALinkHoldsNoPassword(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--no-samples")
	one := filepath.Join(dumpsDir(t), "t0", "goroutines.txt")
	got := execute(t, nil, "push", "--server", strings.Replace(s.url, "//", "//me:hunter2@", 1), one)
	if got.status != 0 || !strings.HasPrefix(got.stdout, s.url+"/cases/") || strings.Contains(got.stderr, "hunter2") {
		t.Errorf("status %d\nstdout %q\nstderr %q", got.status, got.stdout, got.stderr)
	}
}

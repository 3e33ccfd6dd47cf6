package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// serving is the real server in a process of its own.
type serving struct {
	url string
	cmd *exec.Cmd
	// stderr is what it complained of.
	stderr bytes.Buffer
}

// program is the file that LEAKDIFF_BINARY names, as `make build` made it, else one
// built into dir from the module two directories up, where bench is run in its
// own directory. Both are without the race detector.
func program(dir string) (string, error) {
	if path := os.Getenv("LEAKDIFF_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(dir, "leakdiff")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/leakdiff")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building leakdiff: %w\n%s", err, out)
	}
	return path, nil
}

// serve starts the server over a data directory and returns when it listens.
func serve(binary, data string, args ...string) (*serving, error) {
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--no-samples", "--upload-limit", "4GB"}, args...)
	s := &serving{cmd: exec.Command(binary, args...)}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "LEAKDIFF_") && !strings.HasPrefix(v, "GOGC=") && !strings.HasPrefix(v, "GOMEMLIMIT=") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(line, " listens on ")
	if err != nil || !found {
		s.stop()
		return nil, fmt.Errorf("the server printed %q: %w\n%s", line, err, &s.stderr)
	}
	s.url = strings.TrimSuffix(strings.TrimSpace(address), "/")
	return s, nil
}

// stop ends the server in order, so that the database is complete in its file.
func (s *serving) stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, &s.stderr)
	}
	return nil
}

// peak is the most memory the server took so far in bytes: VmHWM without RssFile
// (proc_pid_status(5)), the pages of the program's own file, which the system drops
// when it needs them.
func (s *serving) peak() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	highest, err := kibibytes(string(status), "VmHWM:")
	if err != nil {
		return 0, err
	}
	file, err := kibibytes(string(status), "RssFile:")
	if err != nil {
		return 0, err
	}
	return highest - file, nil
}

// kibibytes is the value of a row of /proc/PID/status in bytes.
func kibibytes(status, row string) (int64, error) {
	_, rest, _ := strings.Cut(status, row)
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0, fmt.Errorf("%s %w", row, err)
	}
	return kib << 10, nil
}

// busy is the processor time that the server used so far. Linux counts it in
// hundredths of a second for every program (USER_HZ, proc_pid_stat(5)).
func (s *serving) busy() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := int64(0)
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// uploaded is the part of the upload API's answer that is looked at.
type uploaded struct {
	ID, Case, Link, Status, Error string
	Snapshots                     []snapshot
}

type snapshot struct {
	ID       string
	Totals   struct{ Goroutines *int }
	Families []struct {
		Fingerprint string
		Members     int
	}
}

// goroutines is -1 where none were captured.
func (s snapshot) goroutines() int {
	if s.Totals.Goroutines == nil {
		return -1
	}
	return *s.Totals.Goroutines
}

// put uploads and returns when the result can be asked for.
func (s *serving) put(name, caseID string, body io.Reader, size int64) (uploaded, error) {
	address := s.url + "/api/v1/bundles/" + name + "?wait=1"
	if caseID != "" {
		address += "&case=" + caseID
	}
	req, err := http.NewRequest(http.MethodPut, address, body)
	if err != nil {
		return uploaded{}, err
	}
	req.ContentLength = size
	up, err := s.answer(req)
	for err == nil && (up.Status == "queued" || up.Status == "running") {
		time.Sleep(20 * time.Millisecond)
		req, err = http.NewRequest(http.MethodGet, s.url+"/api/v1/bundles/"+up.ID, nil)
		if err == nil {
			up, err = s.answer(req)
		}
	}
	if err == nil && up.Status != "done" {
		err = fmt.Errorf("uploading %s: %s: %s", name, up.Status, up.Error)
	}
	return up, err
}

func (s *serving) putFile(path string) (uploaded, error) {
	f, err := os.Open(path)
	if err != nil {
		return uploaded{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return uploaded{}, err
	}
	return s.put(filepath.Base(path), "", f, info.Size())
}

// serves compares an upload of one dump with the families that it must have.
func (s *serving) serves(up uploaded, want families) error {
	if len(up.Snapshots) != 1 || up.Snapshots[0].goroutines() != want.sum() {
		return fmt.Errorf("the answer does not name one snapshot of %d goroutines: %+v", want.sum(), up.Snapshots)
	}
	_, body, err := s.get("/snapshots/" + up.Snapshots[0].ID + ".json")
	if err != nil {
		return err
	}
	var report struct{ Snapshots []snapshot }
	if err := json.Unmarshal(body, &report); err != nil {
		return err
	}
	got := families{}
	for _, one := range report.Snapshots {
		for _, f := range one.Families {
			got[f.Fingerprint] += f.Members
		}
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("%d families of %d goroutines are served, the peer's %d are others or have other counts", len(got), got.sum(), len(want))
	}
	return nil
}

func (s *serving) answer(req *http.Request) (up uploaded, err error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return up, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return up, err
	}
	if res.StatusCode/100 != 2 {
		return up, fmt.Errorf("%s %s: %s: %.500s", req.Method, req.URL.Path, res.Status, text)
	}
	return up, json.Unmarshal(text, &up)
}

// get asks for a page and reads it to its end.
func (s *serving) get(path string, header ...string) (res *http.Response, body []byte, err error) {
	req, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		return nil, nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err = http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotModified {
		err = fmt.Errorf("GET %s: %s", path, res.Status)
	}
	return res, body, err
}

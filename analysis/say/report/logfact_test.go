package report

import (
	"strings"
	"testing"

	"leakdiff/analysis/read/gauge"
)

func TestEveryFactOfALogIsToldWithWhatToDo(t *testing.T) {
	for _, kind := range gauge.LogKinds() {
		w := logWords[kind]
		if text := w.words("X1"); text == "" || strings.Contains(text, "%!") || strings.Contains(w.text, "%s") != strings.Contains(text, "X1") || (w.limit == "") == (w.do == "") {
			t.Errorf("%s: %q, limit %q, do %q", kind, text, w.limit, w.do)
		}
		if text := w.words(""); strings.Contains(text, "%") || strings.HasSuffix(text, " ") {
			t.Errorf("%s without a detail: %q", kind, text)
		}
	}
	if len(logWords) != len(gauge.LogKinds()) {
		t.Errorf("%d kinds are worded, %d are known", len(logWords), len(gauge.LogKinds()))
	}
}

package view

import "leakdiff/analysis/say/document"

// Written is a page whose content is a document.
type Written struct {
	Shell Shell
	Body  document.Document
}

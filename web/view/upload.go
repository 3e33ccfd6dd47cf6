package view

import "leakdiff/analysis/say/wording"

// Upload is the drop zone with its form: files, folders or pasted text become a
// new case, or another bundle of the case with the id Case.
type Upload struct {
	// MaxBytes is the largest upload and FreeBytes what the disk still takes, both
	// checked before anything is sent; 0 for no limit.
	MaxBytes, FreeBytes int64
	// Free says the latter in words, "48 GB free".
	Free string
	// Keyed says that whoever uploads gets the owner key of the case to keep.
	Keyed bool
	// Refusal says why nothing is taken now; empty otherwise.
	Refusal string
}

// UploadInput is what is known about room on the disk. Reserve is what must stay
// free, so that results can still be written.
type UploadInput struct {
	MaxBytes, Free, Reserved int64
	Keyed                    bool
}

// newUpload offers an upload, or refuses it in words where the disk is nearly
// full. A negative Free means that it is not known.
func newUpload(in UploadInput) Upload {
	u := Upload{MaxBytes: in.MaxBytes, Keyed: in.Keyed}
	if in.Free < 0 {
		return u
	}
	u.Free = wording.Bytes(in.Free) + " free"
	u.FreeBytes = in.Free - in.Reserved
	if u.FreeBytes <= 0 {
		u.FreeBytes = 0
		u.Refusal = "The disk of this server is nearly full: " + wording.Bytes(in.Free) + " free, " + wording.Bytes(in.Reserved) +
			" are kept for results. Delete a case, or give the data directory more room; then upload again."
	}
	return u
}

// Stored is what follows an upload on a server that others reach: the key by which the
// case can be changed.
type Stored struct {
	Shell    Shell
	Key, URL string
}

// NewStored makes the page about a stored upload; the address is that of its case.
func NewStored(engine, key, address string) Stored {
	return Stored{Shell: Shell{Title: "Stored", Section: "cases", Here: "Stored", Engine: engine, Crumbs: []Link{{Text: "Cases", URL: "/"}}}, Key: key, URL: address}
}

package view

// Upload is the drop zone with its form: files, folders or pasted text become a
// new case, or another bundle of the case with the id Case.
type Upload struct {
	// Case is empty for a new case.
	Case, CaseTitle string
	// MaxBytes is the largest upload and FreeBytes what the disk still takes, both
	// checked before anything is sent; 0 for no limit.
	MaxBytes, FreeBytes int64
	// Free says the latter in words, "48 GB free".
	Free string
	// Refusal says why nothing is taken now; empty otherwise.
	Refusal string
}

// UploadInput is what is known about room on the disk. Reserve is what must stay
// free, so that results can still be written.
type UploadInput struct {
	Case, CaseTitle          string
	MaxBytes, Free, Reserved int64
}

// NewUpload offers an upload, or refuses it in words where the disk is nearly
// full. A negative Free means that it is not known.
func NewUpload(in UploadInput) Upload {
	u := Upload{Case: in.Case, CaseTitle: Visible(in.CaseTitle), MaxBytes: in.MaxBytes}
	if in.Free < 0 {
		return u
	}
	u.Free = Bytes(in.Free) + " free"
	u.FreeBytes = in.Free - in.Reserved
	if u.FreeBytes <= 0 {
		u.FreeBytes = 0
		u.Refusal = "The disk of this server is nearly full: " + Bytes(in.Free) + " free, " + Bytes(in.Reserved) +
			" are kept for results. Delete a case, or give the data directory more room; then upload again."
	}
	return u
}

// Action is where the form goes without scripts; API is where scripts send it.
func (u Upload) Action() string { return u.to("/upload") }

// API is the address for scripts and shells.
func (u Upload) API() string { return u.to("/api/v1/bundles") }

func (u Upload) to(path string) string {
	if u.Case == "" {
		return path
	}
	return path + "?case=" + query(u.Case)
}

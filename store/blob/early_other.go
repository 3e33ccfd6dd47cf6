//go:build !linux

package blob

import "os"

// beginWriting leaves all to the sync at the end.
func beginWriting(*os.File, int64, int64) {}

package procfs

import (
	"bytes"

	"leakdiff/analysis"
)

// ParseUsual reads one whole fdinfo file of usual lines alone, in their usual order:
// pos, flags, mnt_id, ino, watches. Only fdinfo files have such lines. It returns the
// result of ParseFDInfo, which has no problem with such a file, in a fraction of the
// time: a capture has tens of thousands of them. For any other file ok is false, and
// ParseFDInfo must read it.
func ParseUsual(text []byte, fd int) (info FDInfo, ok bool) {
	in := usualReader{text: text}
	info = FDInfo{FD: fd, Bodies: 1}
	info.Pos = int64(in.number("pos:\t", 10))
	if !in.has("flags:\t0") {
		return info, false
	}
	info.Flags = in.number("flags:\t", 8)
	if in.has("mnt_id:\t") {
		info.MountID = int(in.number("mnt_id:\t", 10))
	}
	if in.has("ino:\t") {
		info.Inode, info.HasInode = in.number("ino:\t", 10), true
	}
	if in.has("inotify ") && !in.odd {
		info.Type = "inotify"
		info.Watches = make([]analysis.Watch, 0, bytes.Count(in.text[in.at:], []byte("\n")))
	}
	for in.at < len(in.text) && !in.odd {
		info.Watches = append(info.Watches, in.watch(fd))
	}
	return info, !in.odd
}

// usualReader goes through the lines; odd stays once anything unusual was met.
type usualReader struct {
	text []byte
	at   int
	line int64
	odd  bool
}

func (in *usualReader) has(word string) bool {
	return len(in.text)-in.at >= len(word) && string(in.text[in.at:in.at+len(word)]) == word
}

func (in *usualReader) word(word string) {
	if !in.has(word) {
		in.odd = true
		return
	}
	in.at += len(word)
}

// number reads a line of a word and a number, which surely fits.
func (in *usualReader) number(word string, base uint64) (v uint64) {
	in.word(word)
	first := in.at
	for ; in.at < len(in.text) && uint64(in.text[in.at]-'0') < base; in.at++ {
		v = v*base + uint64(in.text[in.at]-'0')
	}
	in.odd = in.odd || in.at == first || in.at-first > 18
	in.end()
	return v
}

// end ends a line, which has a line feed.
func (in *usualReader) end() {
	if in.at >= len(in.text) || in.text[in.at] != '\n' {
		in.odd = true
		return
	}
	in.at++
	in.line++
}

// hex reads a key and a number of at most so many digits.
func (in *usualReader) hex(key string, most int) (v uint64) {
	in.word(key)
	first := in.at
	for ; in.at < len(in.text); in.at++ {
		digit, ok := hexDigit(in.text[in.at])
		if !ok {
			break
		}
		v = v<<4 | digit
	}
	in.odd = in.odd || in.at == first || in.at-first > most
	return v
}

func hexDigit(c byte) (uint64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10, true
	}
	return 0, false
}

// watch reads one inotify line (fs/notify/fdinfo.c), with or without a file handle.
//
//	"inotify wd:1e ino:1 sdev:16 mask:20 ignored_mask:0 fhandle-bytes:c fhandle-type:81 f_handle:0100.."
func (in *usualReader) watch(fd int) analysis.Watch {
	from := in.at
	w := analysis.Watch{FD: fd, Place: analysis.Place{Line: in.line + 1, Offset: int64(from)}}
	w.WD = int64(in.hex("inotify wd:", 8))
	w.Inode = in.hex(" ino:", 16)
	w.Device = uint32(in.hex(" sdev:", 8))
	w.Mask = uint32(in.hex(" mask:", 8))
	in.hex(" ignored_mask:", 8)
	if in.has(" ") {
		in.hex(" fhandle-bytes:", 8)
		w.HandleType = uint32(in.hex(" fhandle-type:", 8))
		handle := in.at + len(" f_handle:")
		in.hex(" f_handle:", maxHandle)
		if !in.odd {
			w.Handle = string(in.text[handle:in.at])
		}
	}
	w.Place.Length = int64(in.at - from)
	in.end()
	return w
}

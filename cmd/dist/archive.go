package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"time"
)

// tarball packs items below a directory, as root's, in the order given.
func tarball(dir string, items []item, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	for _, it := range items {
		header := &tar.Header{Name: dir + "/" + it.name, Mode: int64(it.mode), Size: int64(len(it.content)), ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(it.content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(archive.Close(), packed.Close())
	return out.Bytes(), err
}

// zipped packs items below a directory in the order given.
func zipped(dir string, items []item, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, it := range items {
		header := &zip.FileHeader{Name: dir + "/" + it.name, Method: zip.Deflate, Modified: at}
		header.SetMode(it.mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(it.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

// gzipped packs a manual page as packages have it.
func gzipped(content []byte) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := packed.Write(content); err != nil {
		return nil, err
	}
	err = packed.Close()
	return out.Bytes(), err
}

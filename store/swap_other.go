//go:build !linux

package store

import "errors"

func swap(string, string) error { return errors.ErrUnsupported }

//go:build !linux

package main

// ofKernel reports false: only Linux has procfs.
func ofKernel(string) bool { return false }

package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"leakdiff/analysis/say/wording"
)

// longest bounds each text of an answer in bytes.
const longest = 800

// printable is a text of a dump with its control characters written out, cut.
func printable(s string) string {
	s = wording.Printable(s)
	if len(s) <= longest {
		return s
	}
	n := longest
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes more)", s[:n], len(s)-n)
}

// tidy makes every text within an answer printable. v is a pointer to it. What the answer
// shares with a report is copied before.
func tidy(v any) { tidyValue(reflect.ValueOf(v).Elem()) }

func tidyValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(printable(v.String()))
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
		tidyValue(own.Elem())
		v.Set(own)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len()) // the report has the other one
		reflect.Copy(own, v)
		for i := range own.Len() {
			tidyValue(own.Index(i))
		}
		v.Set(own)
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		own := reflect.New(v.Elem().Type()).Elem()
		own.Set(v.Elem())
		tidyValue(own)
		v.Set(own)
	case reflect.Map:
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			pair := [2]reflect.Value{reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()}
			pair[0].Set(key)
			pair[1].Set(value)
			tidyValue(pair[0])
			tidyValue(pair[1])
			own.SetMapIndex(pair[0], pair[1])
		}
		if !v.IsNil() {
			v.Set(own)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// The fields of an embedded struct may be set where the struct may not.
			if f := v.Field(i); f.CanSet() || f.Kind() == reflect.Struct {
				tidyValue(f)
			}
		}
	}
}

// mostBytes bounds one answer in bytes of JSON.
const mostBytes = 10_000

// window returns the rows of a list from position from on: at most limit, and as many as fit
// into mostBytes with what stands beside them, but at least one. left counts those after it.
func window[T any](beside any, all []T, from, limit int) (rows []T, left int) {
	all = all[min(max(from, 0), len(all)):]
	bytes := size(beside)
	for _, row := range all[:min(limit, len(all))] {
		if bytes += size(row); bytes > mostBytes && len(rows) > 0 {
			break
		}
		rows = append(rows, row)
	}
	return rows, len(all) - len(rows)
}

// size is the length of a part of an answer in bytes of JSON.
func size(v any) int {
	tidy(&v)
	text, _ := json.Marshal(v)
	return len(text)
}

// more says how to ask for what is left of a list of which rows were returned from a
// position on, "" where nothing is.
func more(from, rows, left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("%d more: ask again with from=%d", left, max(from, 0)+rows)
}

// limited is the number of rows asked for: usual for none, at most most.
func limited(asked, usual, most int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}

// unlisted says that members beyond those that were prepared cannot be asked for, "" where
// all were.
func unlisted(total, prepared int) string {
	if total <= prepared {
		return ""
	}
	return fmt.Sprintf("%s not listed: only the first %d can be asked for", wording.Plural(total-prepared, "more is", "more are"), prepared)
}

// Package column encodes columns of numbers and texts. It takes slices and returns bytes, in
// memory and on their way to the store. It knows neither what the columns mean nor how their
// bytes are compressed.
package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Codec writes columns one after the other, or reads them again. A format is one function
// that names its columns in order: it serves both directions, so that they cannot differ.
// The first error is kept, and nothing is read after it. The zero value writes.
//
//	numbers  length (uvarint); unless it is 0, a byte (plain or differences) and the runs
//	texts    the lengths as numbers, then all bytes
//	bytes    length (uvarint), then the bytes
//
// A run is a token (uvarint): the zigzag of its value plus 1; or 0 and then how often the
// value before is repeated; or 0 and 0 for the smallest int64, for which no token is left.
type Codec struct {
	data    []byte
	reading bool
	err     error
}

// Writer returns a Codec that writes, with room for so many bytes.
func Writer(room int) *Codec { return &Codec{data: make([]byte, 0, room)} }

// Appender returns a Codec that writes after data.
func Appender(data []byte) *Codec { return &Codec{data: data} }

// Reader returns a Codec that reads data. Bytes that it reads are parts of data.
func Reader(data []byte) *Codec { return &Codec{data: data, reading: true} }

// The forms of a column of numbers.
const (
	plain       = 0
	differences = 1
)

// Integer is a type of numbers. A column may be read as another type if its values fit.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint16 | ~uint64
}

var errShort = errors.New("columns end too early")

// Reading reports the direction.
func (c *Codec) Reading() bool { return c.reading }

// Data returns what was written, or what is left to read.
func (c *Codec) Data() []byte { return c.data }

// Fail keeps an error unless there is one.
func (c *Codec) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if c.reading {
		c.data = nil
	}
}

// Err returns the first error.
func (c *Codec) Err() error { return c.err }

// End returns the first error. To a reader, bytes after the last column are one.
func (c *Codec) End() error {
	if c.err == nil && c.reading && len(c.data) > 0 {
		return fmt.Errorf("%d bytes after the last column", len(c.data))
	}
	return c.err
}

// Numbers writes or reads a column of at most so many values. It reads into the capacity of
// values; an empty column is read as nil.
func Numbers[T Integer](c *Codec, most int, values *[]T) {
	n := c.length(len(*values), most)
	switch {
	case n == 0 && c.reading:
		*values = nil
	case n == 0:
	case c.reading:
		*values = readNumbers(c, slices.Grow((*values)[:0], n)[:n])
	default:
		c.data = appendNumbers(c.data, *values)
	}
}

// Uint writes or reads one number.
func (c *Codec) Uint(v *uint64) {
	if c.reading {
		*v = c.uvarint()
	} else {
		c.data = binary.AppendUvarint(c.data, *v)
	}
}

// Int writes or reads one number, as its zigzag.
func (c *Codec) Int(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63)
	c.Uint(&u)
	*v = int64(u>>1) ^ -int64(u&1)
}

// Step writes or reads the distance of a number from the last one, which it then becomes.
func (c *Codec) Step(v, last *int64) {
	by := *v - *last
	c.Int(&by)
	*v = *last + by
	*last = *v
}

// Text writes or reads one text.
func (c *Codec) Text(text *string) {
	n := c.length(len(*text), math.MaxInt)
	if c.reading {
		*text = string(c.cut(n))
	} else {
		c.data = append(c.data, *text...)
	}
}

// Texts writes or reads a column of at most so many texts, which share one string if they
// are read.
func (c *Codec) Texts(most int, texts *[]string) {
	var lengths []int
	size := 0
	if !c.reading {
		for _, text := range *texts {
			lengths = append(lengths, len(text))
			size += len(text)
		}
	}
	Numbers(c, most, &lengths)
	if !c.reading {
		c.data = slices.Grow(c.data, size)
		for _, text := range *texts {
			c.data = append(c.data, text...)
		}
		return
	}
	for _, n := range lengths {
		if n < 0 || n > len(c.data)-size {
			c.Fail(errShort)
			return
		}
		size += n
	}
	all := string(c.cut(size))
	*texts = nil
	for _, n := range lengths {
		*texts = append(*texts, all[:n])
		all = all[n:]
	}
}

// Bytes writes or reads bytes. Those that are read have no spare capacity.
func (c *Codec) Bytes(b *[]byte) {
	n := c.length(len(*b), math.MaxInt)
	if c.reading {
		*b = c.cut(n)
	} else {
		c.data = append(c.data, *b...)
	}
}

// length writes or reads a length of at most so many.
func (c *Codec) length(n, most int) int {
	v := uint64(n)
	if c.Uint(&v); v > uint64(most) {
		c.Fail(fmt.Errorf("a column of %d, at most %d are possible", v, most))
	}
	if c.err != nil {
		return 0
	}
	return int(v)
}

func (c *Codec) uvarint() uint64 {
	v, n := binary.Uvarint(c.data)
	if n <= 0 {
		c.Fail(errShort)
		return 0
	}
	c.data = c.data[n:]
	return v
}

func (c *Codec) cut(n int) []byte {
	if n > len(c.data) {
		c.Fail(errShort)
		return nil
	}
	out := c.data[:n:n]
	c.data = c.data[n:]
	return out
}

// appendNumbers writes a column in the shorter form.
func appendNumbers[T Integer](b []byte, values []T) []byte {
	begin := len(b)
	b = appendRuns(append(b, plain), values, false)
	middle := len(b)
	b = appendRuns(append(b, differences), values, true)
	if middle-begin <= len(b)-middle {
		return b[:middle]
	}
	return append(b[:begin], b[middle:]...)
}

// appendRuns writes the values, or the first one and then differences, which wrap around on
// overflow.
func appendRuns[T Integer](b []byte, values []T, different bool) []byte {
	var last, value int64
	length := 0
	for i, v := range values {
		step := int64(v) - last
		if different {
			last = int64(v)
		}
		if i > 0 && step == value {
			length++
			continue
		}
		b = appendRepeats(b, value, length)
		b = appendValue(b, step)
		value, length = step, 0
	}
	return appendRepeats(b, value, length)
}

func appendValue(b []byte, v int64) []byte {
	token := (uint64(v)<<1 ^ uint64(v>>63)) + 1
	if b = binary.AppendUvarint(b, token); token == 0 {
		b = append(b, 0)
	}
	return b
}

// appendRepeats repeats the value that was written last.
func appendRepeats(b []byte, v int64, times int) []byte {
	// Two small values are as short as a token and its number.
	if small := v >= -63 && v <= 63; small && times <= 2 {
		for range times {
			b = appendValue(b, v)
		}
		return b
	}
	if times == 0 {
		return b
	}
	return binary.AppendUvarint(append(b, 0), uint64(times))
}

// readNumbers fills out with the next column.
func readNumbers[T Integer](c *Codec, out []T) []T {
	form := c.cut(1)
	if c.err == nil && form[0] > differences {
		c.Fail(fmt.Errorf("unknown form %d of a column", form[0]))
	}
	if c.err != nil {
		return nil
	}
	different := form[0] == differences
	var last, value int64
	for i := 0; i < len(out); {
		times := uint64(1)
		if token := c.uvarint(); token > 0 {
			value = int64((token-1)>>1) ^ -int64((token-1)&1)
		} else if n := c.uvarint(); n > 0 && i > 0 {
			times = n
		} else {
			value = math.MinInt64
		}
		if times > uint64(len(out)-i) {
			c.Fail(fmt.Errorf("a run of %d values, %d are left", times, len(out)-i))
		}
		if c.err != nil {
			return nil
		}
		for range times {
			v := value
			if different {
				last += value
				v = last
			}
			if out[i] = T(v); int64(out[i]) != v {
				c.Fail(fmt.Errorf("value %d does not fit its column", v))
				return nil
			}
			i++
		}
	}
	return out
}

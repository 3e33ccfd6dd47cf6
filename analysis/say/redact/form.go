package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis/expression"
)

// forms writes pseudonyms that readers take for the values: an address for an address, a name
// with as many parts for a name with parts. Without forms a pseudonym is "host-1".
type forms struct {
	// words has the pseudonyms of words without their numbers, numbers those of long numbers
	// and of ids, by kind.
	words   map[string]string
	numbers map[string]string
	// upper counts the pages of addresses below each upper half, pages and values have what
	// became of them.
	upper  map[uint64]uint64
	pages  map[uint64]uint64
	values map[uint64]uint64
	// done are the pieces of lines that were replaced, seen those that were learned.
	done map[string]string
	seen map[string]bool
	// prefix is that of all new words, "" for that of the rule.
	prefix string
}

func newForms() *forms {
	return &forms{words: map[string]string{}, numbers: map[string]string{}, upper: map[uint64]uint64{}, pages: map[uint64]uint64{}, values: map[uint64]uint64{}, done: map[string]string{}, seen: map[string]bool{}}
}

// longNumber is how many digits a number has at least that may identify somebody.
const longNumber = 6

var (
	// datePart is a time in a name, which dates a capture.
	datePart = expression.Lazy(`(?i)20[0-4]\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[T_.-]?\d{2}[:_.-]?\d{2}(?:[:_.-]?\d{2})?)?Z?|[0-3]\d\.[01]\d\.20\d\d|\b1[4-9]\d{8}(?:\d{3})?\b`)
	// idPart is an id in a name.
	idPart = expression.Lazy(uuid.String() + `|` + longHex.String())
	// podEnd is what a controller appends to the name of a pod.
	podEnd = expression.Lazy(`-(?:[a-f0-9bcdfghjklmnpqrstvwxz]{7,10}-)?[bcdfghjklmnpqrstvwxz2-9]{5}$`)
	// volume is what the API server appends to the names of volumes with tokens.
	volume  = expression.Lazy(`^(?:kube-api-access|.*-token)(-[0-9a-z]{5})$`)
	ordinal = expression.Lazy(`[-#:]\d{1,5}$`)
	// nameRun is a word in a name.
	nameRun = expression.Lazy(`[\pL\pN\pM]+`)
	// digitRun are digits in a word.
	digitRun = expression.Lazy(`\pN+`)
)

// formed is the pseudonym of a value in its form.
func (r *Redactor) formed(word, value string, n int) string {
	switch word {
	case "ip":
		return r.formedAddress(value, n)
	case "mac", "id":
		return r.forms.scrambled(value)
	case "token":
		// One of several threads has its number behind the secret.
		base := ordinal.ReplaceAllString(value, "")
		return r.formedWord(word, base, "token "+base) + value[len(base):]
	}
	if !strings.ContainsFunc(value, unicode.IsLetter) || account.MatchString(strings.ToUpper(value)) {
		return r.forms.scrambled(value)
	}
	if word == "pod" {
		if at := podEnd.FindStringIndex(value); at != nil {
			return r.formedName(word, value[:at[0]]) + r.forms.scrambled(value[at[0]:])
		}
	}
	return r.formedName(word, value)
}

// formedAddress is the n-th address: of the network for tests of devices, or a local one of
// version 6.
func (r *Redactor) formedAddress(value string, n int) string {
	a, err := netip.ParseAddr(value)
	for ; ; n++ {
		out := fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&0xff, n&0xff)
		if err == nil && a.Is6() || n >= 1<<17 {
			out = fmt.Sprintf("fd00::%x:%x", n>>16, n&0xffff)
		}
		if !r.real[out] && !r.issued[out] {
			r.issued[out] = true
			return out
		}
	}
}

// formedName replaces the words of a name and keeps the signs between them: "acme-7.db" becomes
// "pathxb-7.db".
func (r *Redactor) formedName(word, value string) string {
	if forges()[strings.ToLower(value)] {
		return value
	}
	if at := volume.FindStringSubmatchIndex(value); at != nil {
		base := value[:at[2]]
		if base != "kube-api-access" {
			base = r.formedName(word, strings.TrimSuffix(base, "-token")) + "-token"
		}
		return base + r.forms.scrambled(value[at[2]:])
	}
	for _, pattern := range []*expression.Expression{ipv4, ipv6} {
		for _, at := range pattern.FindAllStringIndex(value, -1) {
			if out := r.address(value[at[0]:at[1]]); out != value[at[0]:at[1]] {
				return r.formedName(word, value[:at[0]]) + out + r.formedName(word, value[at[1]:])
			}
		}
	}
	if at := idPart.FindStringIndex(value); at != nil {
		return r.formedName(word, value[:at[0]]) + r.name(Ids, "id", value[at[0]:at[1]]) + r.formedName(word, value[at[1]:])
	}
	if at := datePart.FindStringIndex(value); at != nil {
		return r.formedName(word, value[:at[0]]) + value[at[0]:at[1]] + r.formedName(word, value[at[1]:])
	}
	last := strings.LastIndexByte(value, '.')
	if end := strings.ToLower(value[last+1:]); last > 0 && (word == "host" && (inside()[end] || outside()[end]) || word != "host" && (dataFile.MatchString(value[last:]) || softwareFile.MatchString(value[last:]) || sources()[end])) {
		return r.formedName(word, value[:last]) + value[last:]
	}
	return nameRun.ReplaceAllStringFunc(value, func(m string) string {
		if text := strings.ToLower(strings.Trim(m, "0123456789")); (word == "path" || word == "file") && (text == "" || rounds()[text] || plainNames()[text] || common()[text]) && len(m) < longNumber+len(text) {
			return m
		}
		return r.formedWord(word, m, "")
	})
}

// formedWord is the pseudonym of one word, which has its short numbers. A mix of letters and digits
// as of keys becomes another one.
func (r *Redactor) formedWord(word, value, key string) string {
	digits := digitRun.FindAllString(value, -1)
	if key == "" && (len(digits) > 2 || len(digits) > 0 && len(value) == len(digits[0])) {
		return r.forms.number(value)
	}
	if key == "" {
		key = digitRun.ReplaceAllString(strings.ToLower(value), "0")
	}
	out, ok := r.forms.words[key]
	for n := len(r.forms.words); !ok; n++ {
		if out = first(r.forms.prefix, word) + "x" + consonants(n); !r.issued[out] && !r.public[out] && !r.real[out] {
			ok = true
			r.forms.words[key], r.issued[out] = out, true
		}
	}
	if strings.HasPrefix(key, "token ") {
		return out
	}
	for i, d := range digits {
		if i > 0 {
			out += "x"
		}
		out += r.forms.number(d)
	}
	return out
}

// consonants counts in letters that spell no word and are no hex digits.
func consonants(n int) string {
	const letters = "bghjkmnpqrtvwz"
	out := ""
	for ; n > 0 || len(out) < 3; n /= len(letters) {
		out = letters[n%len(letters):][:1] + out
	}
	return out
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// number is what becomes of a number or id: short ones stay.
func (f *forms) number(value string) string {
	if len(value) < longNumber && strings.Trim(value, "0123456789") == "" {
		return value
	}
	return f.scrambled(value)
}

// scrambled replaces letters by letters and digits by digits of the same sort, so that an id stays an
// id. The same text always becomes the same one, and different ones stay different.
func (f *forms) scrambled(value string) string {
	if out, ok := f.numbers[value]; ok {
		return out
	}
	for try := 0; ; try++ {
		out := scramble(value, fmt.Sprint(len(f.numbers), ".", try))
		if _, taken := f.numbers["\x00"+out]; out != value && !taken || try == 1000 {
			f.numbers[value], f.numbers["\x00"+out] = out, ""
			return out
		}
	}
}

func scramble(value, salt string) string {
	sorts := []string{"bcdf", "ae", "iou", "ghjklmnpqrstvwxyz", "BCDF", "AE", "IOU", "GHJKLMNPQRSTVWXYZ", "23456789", "01"}
	var b strings.Builder
	sum, at := sha256.Sum256([]byte(salt)), 0
	for _, c := range value {
		if at == len(sum) {
			sum, at = sha256.Sum256(sum[:]), 0
		}
		if c >= utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			c = 'x'
		}
		for _, sort := range sorts {
			if strings.ContainsRune(sort, c) {
				c = rune(sort[int(sum[at])%len(sort)])
				at++
				break
			}
		}
		b.WriteRune(c)
	}
	return b.String()
}

// pointer replaces an address of memory. Its place within a page stays, and so does the upper half,
// which says whether it is of a heap. Smaller numbers are no addresses that identify anything.
func (f *forms) pointer(text string) string {
	v, err := strconv.ParseUint(text[2:], 16, 64)
	if err != nil || v < 1<<32 || v == 1<<64-1 {
		return text
	}
	digits := strconv.Itoa(len(text) - 2)
	if top := v >> 32; top < 0xffff {
		page, ok := f.pages[v>>12]
		if !ok {
			f.upper[top]++
			page = top<<20 | f.upper[top]*0x9e375&0xfffff
			f.pages[v>>12] = page
		}
		return fmt.Sprintf("0x%0"+digits+"x", page<<12|v&0xfff)
	}
	out, ok := f.values[v]
	if !ok {
		sum := sha256.Sum256([]byte(fmt.Sprint("value ", len(f.values))))
		head, _ := strconv.ParseUint(hex.EncodeToString(sum[:8]), 16, 64)
		// It is as long as before, and larger than every address of a program.
		out = head>>(64-uint(len(strconv.FormatUint(v, 2)))) | 1<<(uint(len(strconv.FormatUint(v, 2)))-1)
		f.values[v] = out
	}
	return fmt.Sprintf("0x%0"+digits+"x", out)
}

// hexEnd replaces the address in one end of a socket as the kernel prints it, in the byte order of
// the machine: "0100007F:1F90".
func (r *Redactor) hexEnd(text string) string {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	if err != nil {
		return text
	}
	swap(raw)
	a, _ := netip.AddrFromSlice(raw)
	out, err := netip.ParseAddr(r.address(a.String()))
	if err != nil || out == a {
		return text
	}
	raw = out.AsSlice()
	if len(address) == 32 && out.Is4() {
		mapped := netip.AddrFrom16(out.As16()).As16()
		raw = mapped[:]
	}
	swap(raw)
	return strings.ToUpper(hex.EncodeToString(raw)) + ":" + port
}

// swap turns words of four bytes round.
func swap(raw []byte) {
	for i := 0; i+4 <= len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
}

package seal

import (
	"bufio"
	"bytes"
	"hash"
	"io"
	"slices"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// without are the members of params that differ between a request and its retry.
var without = []string{"_meta", "inputResponses", "requestState"}

// canonical hashes the one form of params: its length, and then the form, which is that of
// jsontext.Value.Format with jsontext.ReorderRawObjects. Format makes two copies of params, which
// may be large. Here jsontext reads them where they are, notes are taken of objects whose members
// are not in order, and the form is written twice: to be measured, and to be hashed. A text that is
// no JSON stays as it is, and has a hash of its own all the same.
func canonical(h hash.Hash, params jsontext.Value) {
	f := form{raw: params}
	if !f.read() {
		field(h, splice.Without(params, without...))
		return
	}
	var size counter
	f.write(&size, 0, len(params))
	length(h, int(size))
	out := bufio.NewWriterSize(h, 1<<10)
	f.write(out, 0, len(params))
	_ = out.Flush() // a hash does not fail
}

// counter counts the bytes that are written to it.
type counter int

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// form is a JSON text, and what of it the canonical form has in another order.
type form struct {
	raw     []byte
	open    []member         // of the objects that are being read
	sorted  map[int32]object // those that were not in order, by where they begin
	members []member         // of these, without those that are left out

	quoted, plain []byte // the escapes that are being written, and what they stand for
}

// member is where a member stands: from its name, whose end is name, to the end of its value.
type member struct{ from, name, to int32 }

// object is where an object ends, and which of the members are its.
type object struct{ to, first, last int32 }

// deepest is how deep values may be nested: deeper than what is decoded, and no stack is too small.
const deepest = 1 << 10

// read checks the text and takes notes of its objects. Those see two members of one name, too.
func (f *form) read() bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(f.raw), jsontext.AllowDuplicateNames(true))
	if !f.value(d) {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

func (f *form) value(d *jsontext.Decoder) bool {
	if d.StackDepth() > deepest {
		return false
	}
	first, err := d.ReadToken()
	switch {
	case err != nil:
		return false
	case first.Kind() == '{':
		return f.object(d)
	case first.Kind() != '[':
		return true
	}
	for d.PeekKind() != ']' {
		if !f.value(d) {
			return false
		}
	}
	_, err = d.ReadToken()
	return err == nil
}

// object reads an object behind its beginning. Of those in params itself some members are left out.
func (f *form) object(d *jsontext.Decoder) bool {
	from, base, top, asIs := at(d)-1, len(f.open), d.StackDepth() == 1, true
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		m := member{from: at(d) - int32(len(name)), name: at(d)}
		named := func(w string) bool { return splice.Equal(name, w) }
		leave := err == nil && top && slices.ContainsFunc(without, named)
		if err != nil || !f.value(d) {
			return false
		}
		if m.to = at(d); leave {
			asIs = false
			continue
		}
		asIs = asIs && (len(f.open) == base || f.compare(f.open[len(f.open)-1], m) < 0)
		f.open = append(f.open, m)
	}
	members := f.open[base:]
	f.open = f.open[:base]
	if _, err := d.ReadToken(); err != nil || asIs {
		return err == nil
	}
	slices.SortFunc(members, f.compare)
	for i := 1; i < len(members); i++ {
		if f.compare(members[i-1], members[i]) == 0 {
			return false
		}
	}
	if f.sorted == nil {
		f.sorted = map[int32]object{}
	}
	first := int32(len(f.members))
	f.members = append(f.members, members...)
	f.sorted[from] = object{at(d), first, int32(len(f.members))}
	return true
}

func at(d *jsontext.Decoder) int32 { return int32(d.InputOffset()) }

// compare orders names by their UTF-16 (RFC 8785 §3.2.3).
func (f *form) compare(a, b member) int {
	x, y := f.raw[a.from+1:a.name-1], f.raw[b.from+1:b.name-1]
	if plain(x) && plain(y) {
		return bytes.Compare(x, y)
	}
	s, _ := jsontext.AppendUnquote(nil, f.raw[a.from:a.name])
	t, _ := jsontext.AppendUnquote(nil, f.raw[b.from:b.name])
	return slices.Compare(utf16.Encode([]rune(string(s))), utf16.Encode([]rune(string(t))))
}

// plain reports whether a name stands for itself, and its bytes are in the order of its UTF-16.
func plain(name []byte) bool {
	return !slices.ContainsFunc(name, func(c byte) bool { return c == '\\' || c >= 0xee })
}

// write writes a part of the text in its form.
func (f *form) write(w io.Writer, from, to int) {
	for from < to {
		switch f.raw[from] {
		case ' ', '\n', '\r', '\t':
			from++
			continue
		case '"':
			from = f.text(w, from)
			continue
		case '{':
			if o, ok := f.sorted[int32(from)]; ok {
				f.list(w, f.members[o.first:o.last])
				from = int(o.to)
				continue
			}
		}
		end := to
		if n := bytes.IndexAny(f.raw[from+1:to], " \n\r\t\"{"); n >= 0 {
			end = from + 1 + n
		}
		_, _ = w.Write(f.raw[from:end])
		from = end
	}
}

// list writes an object with these members.
func (f *form) list(w io.Writer, members []member) {
	_, _ = io.WriteString(w, "{")
	for i, m := range members {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		f.write(w, int(m.from), int(m.to))
	}
	_, _ = io.WriteString(w, "}")
}

package jsonedit

import "github.com/go-json-experiment/json/jsontext"

// Edit changes JSON in many places in one pass from front to back. It makes one copy, or none if
// nothing changes. Offsets refer to the original text.
type Edit struct {
	raw     jsontext.Value
	out     []byte
	done    int  // raw[:done] was copied to out or cut
	invalid bool // raw is not valid JSON, so the result is raw unchanged
}

// slack is the usual growth of an edited text, in bytes. It avoids a second allocation.
const slack = 128

// NewEdit returns an edit of raw. It does not change raw.
func NewEdit(raw jsontext.Value) Edit { return Edit{raw: raw} }

// Start is the offset of the first byte after leading space. Raw()[Start()] shows the type of the
// value.
func (e *Edit) Start() int { return skipSpace(e.raw, 0) }

// Raw is the original text.
func (e *Edit) Raw() jsontext.Value { return e.raw }

// Value is the part of the original text between two offsets.
func (e *Edit) Value(from, to int) jsontext.Value { return e.raw[from:to:to] }

// Cut removes the bytes of [from, to), which must not begin before an earlier change. The next Put
// takes their place.
func (e *Edit) Cut(from, to int) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.raw)+slack)
	}
	e.out = append(e.out, e.raw[e.done:from]...)
	e.done = to
}

// Put adds bytes at the place of the last change.
func (e *Edit) Put(parts ...string) {
	for _, part := range parts {
		e.out = append(e.out, part...)
	}
}

// PutValue adds a value at the place of the last change.
func (e *Edit) PutValue(v jsontext.Value) { e.out = append(e.out, v...) }

// Replace replaces the bytes of [from, to) with a value.
func (e *Edit) Replace(from, to int, with jsontext.Value) {
	e.Cut(from, to)
	e.PutValue(with)
}

// Result returns the text with all changes. It returns the original text if nothing changed or the
// text is not valid JSON.
func (e *Edit) Result() jsontext.Value {
	if e.out == nil || e.invalid {
		return e.raw
	}
	return append(e.out, e.raw[e.done:]...)
}

// Walk starts an iteration over the object or array at that offset. The iteration is empty for any
// other value.
func (e *Edit) Walk(at int) Walk {
	c, ok := open(e.raw, at)
	return Walk{c: c, ok: ok}
}

// Walk is an iteration over the items of one object or array, during which the items can be
// changed:
//
//	for w := e.Walk(at); e.Next(&w); {
//		if w.Is("title") {
//			e.Drop(&w)
//		}
//	}
//
// A Walk holds no pointer to its Edit, so both can live on the stack.
type Walk struct {
	c       cursor
	it      item
	ok      bool
	kept    int  // items that stay, including the current one
	dropped bool // the current item was dropped
}

// Next advances to the next item and reports whether there is one.
func (e *Edit) Next(w *Walk) bool {
	if !w.ok {
		return false
	}
	it, ok := w.c.next()
	if !ok {
		w.ok = false
		e.invalid = e.invalid || !w.c.closed
		return false
	}
	w.it, w.dropped = it, false
	w.kept++
	return true
}

// Name is the quoted name of the current member, as it stands in the text. It is nil for an element
// of an array.
func (w *Walk) Name() jsontext.Value {
	if !w.c.object {
		return nil
	}
	return w.it.nameOf(w.c.raw)
}

// Is reports whether the current member has that name, with or without escapes in the text.
func (w *Walk) Is(name string) bool { return nameEquals(w.Name(), name) }

// Value is the original value of the current item.
func (w *Walk) Value() jsontext.Value { return w.it.valueOf(w.c.raw) }

// Span returns the offsets of the current value.
func (w *Walk) Span() (from, to int) { return w.it.value, w.it.end }

// Drop removes the current item, with one comma beside it.
func (e *Edit) Drop(w *Walk) {
	w.kept--
	w.dropped = true
	switch {
	// The comma before the item goes too. An item that was dropped before it left that comma.
	case w.kept > 0:
		e.Cut(w.it.start-1, w.it.after)
	case w.c.raw[w.it.after] == ',':
		e.Cut(w.it.start, w.it.after+1)
	default:
		e.Cut(w.it.start, w.it.after)
	}
}

// Set replaces the value of the current item.
func (e *Edit) Set(w *Walk, value jsontext.Value) { e.Replace(w.it.value, w.it.end, value) }

// Rename replaces the name of the current member. Call it before a change of the member's value.
func (e *Edit) Rename(w *Walk, name string) { e.Replace(w.it.from, w.it.colon, Quote(name)) }

// CutItem removes the current item with its name. The next Put takes its place.
func (e *Edit) CutItem(w *Walk) { e.Cut(w.it.from, w.it.end) }

// Add adds a member after the last one. The walk must have ended.
func (e *Edit) Add(w *Walk, name string, value jsontext.Value) {
	if !e.Append(w) {
		return
	}
	e.out, _ = jsontext.AppendQuote(e.out, name)
	e.out = append(e.out, ':')
	e.PutValue(value)
}

// Append prepares a place for an element after the last one; the next Put fills it. The walk must
// have ended. If the value is neither an object nor an array, Append returns false and the edit has
// no result but the original text.
func (e *Edit) Append(w *Walk) bool {
	if e.invalid = e.invalid || !w.c.closed; e.invalid {
		return false
	}
	e.after(w)
	return true
}

// after moves to the place after the last item, and writes a comma if needed.
func (e *Edit) after(w *Walk) {
	at := w.c.at
	if w.kept > 0 && !w.dropped {
		at = w.it.end
	}
	at = max(at, e.done)
	e.Cut(at, at)
	if w.kept++; w.kept > 1 {
		e.out = append(e.out, ',')
	}
}

// Equal reports whether v is the JSON string of text, with or without escapes.
func Equal(v jsontext.Value, text string) bool {
	return len(v) > 0 && v[0] == '"' && nameEquals(v, text)
}

package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Repair repairs an item so that the schemas allow it, and no client rejects a list because of it.
// It removes optional members that are null. It supplies {"type":"object"} for a tool's schema
// that says nothing. It replaces an empty array by an empty object, or the other way round, where
// only the other is allowed, because some languages have only one empty value. If the item cannot
// be repaired, sound is nil and fault says why. Legacy is true for clients of revisions up to
// 2025-11-25. A valid item is returned unchanged.
func Repair(k Kind, legacy bool, item jsontext.Value) (sound jsontext.Value, fault string) {
	c := checker{legacy: legacy}
	sound = c.object(item, items[k], k.item())
	if c.fault == "" {
		if reason := readFault(sound, MaxItemDepth); reason != "" {
			c.wrong(k.item(), reason)
		}
	}
	if c.fault != "" {
		return nil, c.fault
	}
	return sound, ""
}

// item returns the word for one item of the list.
func (k Kind) item() string {
	return [...]string{"tool", "prompt", "resource", "resource template"}[k]
}

// checker checks one item.
type checker struct {
	legacy bool
	fault  string // the first fault that cannot be repaired
}

func (c *checker) wrong(at, reason string) jsontext.Value {
	if c.fault == "" {
		c.fault = at + " " + reason
	}
	return nil
}

// object checks an object by its row of the table.
func (c *checker) object(raw jsontext.Value, is shape, at string) jsontext.Value {
	switch {
	case empty(raw, '['):
		raw = jsontext.Value("{}")
	case raw.Kind() != '{':
		return c.wrong(at, "is not an object")
	}
	rows := members[is]
	seen := 0 // bits of the rows of required members that are present
	out := jsonedit.MapMembers(raw, func(m jsonedit.Member) (jsontext.Value, bool) {
		i := slices.IndexFunc(rows, func(row rule) bool { return m.Is(row.name) })
		if c.fault != "" || i < 0 || rows[i].legacy && !c.legacy {
			return m.Value, true
		}
		row := &rows[i]
		if said := c.value(m.Value, row, at+"."+row.name); said != nil {
			seen |= 1 << i
			return said, true
		}
		return nil, false
	})
	for i, row := range rows {
		if !row.required || seen&(1<<i) != 0 || row.legacy && !c.legacy {
			continue
		}
		if row.supply == "" {
			return c.wrong(at, "has no "+row.name)
		}
		// An object has a place for the member.
		out, _ = jsonedit.Set(out, jsontext.Value(row.supply), row.name)
	}
	return out
}

// value checks the value of one member. It returns nil if the member is to be removed, or
// supplied if it is required.
func (c *checker) value(raw jsontext.Value, row *rule, at string) jsontext.Value {
	switch {
	case raw.Kind() == 'n', raw.Kind() == 't' && (row.is == inputSchema || row.is == outputSchema):
		return nil // The schema true says nothing.
	// A tool can be called without its output schema, so a faulty one is removed.
	case row.is == outputSchema:
		of := checker{legacy: c.legacy}
		said := of.object(raw, outputSchema, at)
		if of.fault != "" || readFault(said, MaxItemDepth-1) != "" || c.legacy && !Compiles(said) {
			return nil
		}
		return said
	case row.list && empty(raw, '{'):
		return jsontext.Value("[]")
	case row.list && raw.Kind() != '[':
		return c.wrong(at, "is not an array")
	case row.list:
		return jsonedit.MapElements(raw, func(element jsontext.Value) (jsontext.Value, bool) {
			return c.one(element, row.is, at+"[]"), true
		})
	}
	return c.one(raw, row.is, at)
}

// one checks a value that is not a list.
func (c *checker) one(raw jsontext.Value, is shape, at string) jsontext.Value {
	if is <= object {
		if is == properties {
			return c.properties(raw, at)
		}
		return c.object(raw, is, at)
	}
	said, isText := jsonedit.Unquote(raw)
	ok := isText
	switch is {
	case flag:
		ok = raw.Kind() == 't' || raw.Kind() == 'f'
	case integer:
		return c.integer(raw, at)
	case share:
		n, err := strconv.ParseFloat(string(raw), 64)
		ok = raw.Kind() == '0' && err == nil && n >= 0 && n <= 1
	case timestamp:
		if isText && !rfc3339(said) {
			return nil // The schemas allow it, clients of the TypeScript SDK do not.
		}
	case objectType:
		if raw.Kind() == '[' &&
			slices.ContainsFunc(
				slices.Collect(jsonedit.Elements(raw)),
				func(v jsontext.Value) bool { return jsonedit.Equal(v, "object") },
			) {
			// Arguments are always an object, whatever else the schema allows.
			return jsontext.Value(`"object"`)
		}
		ok = said == "object"
	case role, theme, support:
		ok = isText && slices.Contains(shapeWords[is], said)
	}
	if !ok {
		return c.wrong(at, "is not "+shapeNames[is])
	}
	return raw
}

// properties checks the properties of a schema. A null property says nothing and becomes {}.
func (c *checker) properties(raw jsontext.Value, at string) jsontext.Value {
	switch {
	case empty(raw, '['):
		return jsontext.Value("{}")
	case raw.Kind() != '{':
		return c.wrong(at, "is not an object")
	}
	return jsonedit.MapMembers(raw, func(m jsonedit.Member) (jsontext.Value, bool) {
		switch m.Value.Kind() {
		case '{', 't', 'f': // protocol/rewrite makes an object of a boolean.
			return m.Value, true
		case 'n':
			return jsontext.Value("{}"), true
		}
		if empty(m.Value, '[') {
			return jsontext.Value("{}"), true
		}
		return c.wrong(at+"."+Ellipsis(m.Key(), 64), "is not an object"), true
	})
}

// integer checks an integer. The Go SDK reads an integer only without a fraction and an exponent,
// and within 64 bits. A number such as 1.0 is rewritten. A larger number is removed, and so is a
// real fraction, which only the TypeScript SDK reads.
func (c *checker) integer(raw jsontext.Value, at string) jsontext.Value {
	if raw.Kind() != '0' {
		return c.wrong(at, "is not an integer")
	}
	if _, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return raw
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || math.Abs(f) >= 1<<63, f != math.Trunc(f):
		return nil
	}
	return jsontext.Value(strconv.FormatInt(int64(f), 10))
}

// rfc3339 reports whether a text is a time of RFC 3339 §5.6 in the form that JavaScript reads.
func rfc3339(text string) bool {
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && !strings.Contains(text, ",")
}

// empty reports whether a value is an empty array or object, as selected by bracket.
func empty(raw jsontext.Value, bracket jsontext.Kind) bool {
	return raw.Kind() == bracket && len(strings.Trim(string(raw), "[]{} \t\r\n")) == 0 &&
		jsonedit.Len(raw) == 0
}

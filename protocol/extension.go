package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// extended are the members of capabilities that name extensions. Before there was `extensions` an
// extension was an experimental capability.
var extended = []string{"extensions", "experimental"}

// hosted are the extensions of which the host knows what they mean. They are part of a fingerprint.
var hosted = []string{ExtensionTasks, ExtensionUI}

// Known reports whether a method is one of some revision of MCP, or of an extension that the host
// takes part in.
func Known(method string) bool {
	_, ok := methods[method]
	return ok
}

// Extended reports whether both sides have declared an extension in common, so that each may send the
// other methods that MCP itself does not know. That of tasks has methods that are known.
func (g Gate) Extended() bool {
	for _, member := range extended {
		theirs, _ := splice.Get(g.Server.raw, member)
		for m := range splice.Members(theirs) {
			name := m.Key()
			if name != ExtensionTasks && declares(m.Value) && g.Client.declares(member+"."+name) {
				return true
			}
		}
	}
	return false
}

// Extends reports whether a client has declared any extension at all.
func (c ClientCapabilities) Extends() bool {
	for _, member := range extended {
		mine, _ := splice.Get(c.raw, member)
		for m := range splice.Members(mine) {
			if declares(m.Value) && m.Key() != ExtensionTasks {
				return true
			}
		}
	}
	return false
}

func declares(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' && v.Kind() != 'f' }

// others is the digest of the extensions of a client of which the host does not know what they mean,
// as it declared them, in the bits of OfOthers. It is 0 for none.
func (c ClientCapabilities) others() Fingerprint {
	var h hash.Hash // nil while there is none, as for most clients
	for _, member := range extended {
		all, _ := splice.Get(c.raw, member)
		for m := range splice.Members(all) {
			name := m.Key()
			if !declares(m.Value) || member == "extensions" && slices.Contains(hosted, name) {
				continue
			}
			if h == nil {
				h = sha256.New()
			}
			settings := m.Value.Clone()
			_ = settings.Compact() // what a client declares was read before
			for _, part := range [][]byte{[]byte(member), []byte(name), settings} {
				h.Write(binary.AppendUvarint(nil, uint64(len(part))))
				h.Write(part)
			}
		}
	}
	if h == nil {
		return 0
	}
	return max(Fingerprint(binary.BigEndian.Uint64(h.Sum(nil)))&OfOthers, 1<<hostedBits)
}

// withoutOthers is c without those extensions.
func (c ClientCapabilities) withoutOthers() ClientCapabilities {
	for _, member := range extended {
		all, _ := splice.Get(c.raw, member)
		for m := range splice.Members(all) {
			if name := m.Key(); member != "extensions" || !slices.Contains(hosted, name) {
				c = c.Without(member + "." + name)
			}
		}
	}
	return c
}

// Merged is what is declared of the list of many servers: the capabilities whose methods the host
// can answer for all of them together. Extensions have methods that name no server, so that only the
// one without any is left: MCP Apps.
func (c ServerCapabilities) Merged() (merged ServerCapabilities) {
	for m := range splice.Members(c.raw) {
		name := m.Key()
		if name == "experimental" || name == "extensions" || !declares(m.Value) || !slices.Contains(shapes[Server], name) {
			continue
		}
		merged = merged.With(name, settings(m.Value))
		for _, flag := range []string{name + ".listChanged", name + ".subscribe"} {
			if v, ok := merged.Settings(flag); ok && v.Kind() != 't' && v.Kind() != 'f' {
				merged = merged.With(flag, jsontext.Value("true"))
			}
		}
	}
	if page := "extensions." + ExtensionUI; c.Has(page) {
		said, _ := c.Settings(page)
		merged = merged.With(page, settings(said))
	}
	return merged
}

// settings is what is declared as the schemas have it: an object. Some servers write true.
func settings(declared jsontext.Value) jsontext.Value {
	if declared.Kind() != '{' {
		return jsontext.Value("{}")
	}
	return declared
}

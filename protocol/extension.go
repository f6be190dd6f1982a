package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// extended lists the members of capabilities that name extensions. Revisions without `extensions`
// declare an extension as an experimental capability.
var extended = []string{"extensions", "experimental"}

// hosted lists the extensions that the host understands. Each has its own bit in a fingerprint.
var hosted = []string{ExtensionTasks, ExtensionUI}

// Known reports whether method belongs to some revision of MCP or to an extension that the host
// understands.
func Known(method string) bool {
	_, ok := methods[method]
	return ok
}

// Extended reports whether both sides declared a common extension, so that each side may send
// methods that MCP itself does not define. The tasks extension does not count, because the method
// table knows its methods.
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

// Extends reports whether a client declared any extension other than the tasks extension.
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

// others is a digest, within the bits of OfOthers, of the client's extensions that the host does
// not understand. The digest covers their names and settings. It is 0 if there are no such
// extensions.
func (c ClientCapabilities) others() Fingerprint {
	var h hash.Hash // nil until the first such extension; most clients declare none
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
			_ = settings.Compact() // c.raw is valid JSON, so Compact cannot fail
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

// withoutOthers is c without the extensions that the host does not understand.
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

// Merged returns the capabilities to advertise for the merged list of many servers: those whose
// methods the host can answer for all servers together. Extensions are left out, because their
// methods do not name a server. Only MCP Apps stays, because it has no methods.
func (c ServerCapabilities) Merged() (merged ServerCapabilities) {
	for m := range splice.Members(c.raw) {
		name := m.Key()
		if name == "experimental" || name == "extensions" || !declares(m.Value) ||
			!slices.Contains(shapes[Server], name) {
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

// settings returns the declared settings as an object, as the schemas require. Some servers write
// true.
func settings(declared jsontext.Value) jsontext.Value {
	if declared.Kind() != '{' {
		return jsontext.Value("{}")
	}
	return declared
}

package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// extensionMembers lists the members of capabilities that name extensions. Revisions without
// `extensions` declare an extension as an experimental capability.
var extensionMembers = []string{"extensions", "experimental"}

// knownExtensions lists the extensions that the host understands. Each has its own bit in a
// fingerprint.
var knownExtensions = []string{ExtensionTasks, ExtensionUI}

// IsKnownMethod reports whether method belongs to some revision of MCP or to an extension that the
// host understands.
func IsKnownMethod(method string) bool {
	_, ok := methods[method]
	return ok
}

// SharesExtension reports whether both sides declared a common extension, so that each side may
// send methods that MCP itself does not define. The tasks extension does not count, because the
// method table knows its methods.
func (g Gate) SharesExtension() bool {
	for _, member := range extensionMembers {
		theirs, _ := jsonedit.Get(g.Server.raw, member)
		for m := range jsonedit.Members(theirs) {
			name := m.Key()
			if name != ExtensionTasks && declares(m.Value) && g.Client.declares(member+"."+name) {
				return true
			}
		}
	}
	return false
}

// HasExtensions reports whether a client declared any extension other than the tasks extension.
func (c ClientCapabilities) HasExtensions() bool {
	for _, name := range extensionMembers {
		mine, _ := jsonedit.Get(c.raw, name)
		for m := range jsonedit.Members(mine) {
			if declares(m.Value) && m.Key() != ExtensionTasks {
				return true
			}
		}
	}
	return false
}

func declares(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' && v.Kind() != 'f' }

// otherExtensions is a digest, within the bits of OtherExtensions, of the client's extensions that
// the host does not understand. The digest covers their names and settings. It is 0 if there are no
// such extensions.
func (c ClientCapabilities) otherExtensions() Fingerprint {
	var h hash.Hash // nil until the first such extension; most clients declare none
	for _, member := range extensionMembers {
		all, _ := jsonedit.Get(c.raw, member)
		for m := range jsonedit.Members(all) {
			name := m.Key()
			if !declares(m.Value) || member == "extensions" && slices.Contains(knownExtensions, name) {
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
	return max(Fingerprint(binary.BigEndian.Uint64(h.Sum(nil)))&OtherExtensions, 1<<hostedBits)
}

// withoutOtherExtensions is c without the extensions that the host does not understand.
func (c ClientCapabilities) withoutOtherExtensions() ClientCapabilities {
	for _, member := range extensionMembers {
		all, _ := jsonedit.Get(c.raw, member)
		for m := range jsonedit.Members(all) {
			if name := m.Key(); member != "extensions" || !slices.Contains(knownExtensions, name) {
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
	for m := range jsonedit.Members(c.raw) {
		name := m.Key()
		if name == "experimental" || name == "extensions" || !declares(m.Value) ||
			!slices.Contains(schemaCapabilities[Server], name) {
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

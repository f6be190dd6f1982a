package protocol

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// The members of _meta that MCP defines (2026-07-28 §basic).
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaRelatedTask        = "io.modelcontextprotocol/related-task"
	MetaProgressToken      = "progressToken"
)

// Meta is the description of itself that a modern request carries in _meta (2026-07-28 §basic).
type Meta struct {
	Version      string
	Capabilities ClientCapabilities
	Info         Implementation // optionalProgressFields; zero when absent
	LogLevel     string         // empty if the client wants no log messages
}

// IsModern reports whether params name a revision in _meta, which makes the request a modern one.
// The other members of _meta exist in both eras.
func IsModern(params jsontext.Value) bool {
	_, ok := jsonedit.Get(params, "_meta", MetaProtocolVersion)
	return ok
}

// ParseMeta reads the _meta of a modern request. It returns an *Error with ConditionInvalidParams
// if the required version or capabilities are missing, or if a member is malformed (2026-07-28
// §basic).
func ParseMeta(params jsontext.Value) (Meta, error) {
	meta, _ := jsonedit.Get(params, "_meta")
	return parseMeta(meta)
}

func parseMeta(meta jsontext.Value) (m Meta, err error) {
	if meta.Kind() != '{' {
		return Meta{}, InvalidParams("_meta is missing")
	}
	declared := false
	for member := range jsonedit.Members(meta) {
		switch v := member.Value; {
		case member.Is(MetaProtocolVersion):
			m.Version, _ = jsonedit.Unquote(v)
		case member.Is(MetaClientCapabilities):
			declared = true
			m.Capabilities, err = ParseClientCapabilities(v)
		case member.Is(MetaClientInfo):
			m.Info, err = ParseImplementation(v)
		case member.Is(MetaLogLevel):
			if m.LogLevel, _ = jsonedit.Unquote(v); !ValidLogLevel(m.LogLevel) {
				err = InvalidLogLevel("_meta."+MetaLogLevel, m.LogLevel)
			}
		}
		if err != nil {
			return Meta{}, err
		}
	}
	switch {
	case m.Version == "":
		return Meta{}, InvalidParams("_meta." + MetaProtocolVersion + " is missing or not a string")
	case !declared:
		return Meta{}, InvalidParams("_meta." + MetaClientCapabilities + " is missing")
	}
	return m, nil
}

// Set returns params with the members of m in _meta. Params may be empty. Other members of _meta
// stay.
func (m Meta) Set(params jsontext.Value) jsontext.Value {
	meta, _ := jsonedit.Get(params, "_meta")
	capabilities, info := m.Capabilities.Raw(), jsontext.Value(nil)
	if m.Info.Name != "" {
		info = m.Info.Raw()
	}
	const names = len(MetaProtocolVersion + MetaClientCapabilities + MetaClientInfo + MetaLogLevel)
	// 64 bytes more for the version, the log level and the punctuation.
	all := make([]byte, 1, len(meta)+len(capabilities)+len(info)+names+64)
	all[0] = '{'
	for member := range jsonedit.Members(meta) { // CheckMeta ensured that _meta is an object
		switch {
		case member.Is(MetaProtocolVersion), member.Is(MetaClientCapabilities):
		case len(info) > 0 && member.Is(MetaClientInfo), m.LogLevel != "" && member.Is(MetaLogLevel):
		default:
			all = append(append(append(append(all, member.Name...), ':'), member.Value...), ',')
		}
	}
	all, _ = jsontext.AppendQuote(append(all, `"`+MetaProtocolVersion+`":`...), m.Version)
	all = append(append(all, `,"`+MetaClientCapabilities+`":`...), capabilities...)
	if len(info) > 0 {
		all = append(append(all, `,"`+MetaClientInfo+`":`...), info...)
	}
	if m.LogLevel != "" {
		all, _ = jsontext.AppendQuote(append(all, `,"`+MetaLogLevel+`":`...), m.LogLevel)
	}
	params, _ = jsonedit.Set(params, append(all, '}'), "_meta")
	return params
}

// AdmitMeta checks _meta of a message against the same bounds as CheckMeta. It removes a _meta that
// is null, because not every server accepts null.
func AdmitMeta(m jsonrpc.Message) (jsonrpc.Message, error) {
	if !m.MayHave("_meta") {
		return m, nil
	}
	meta, ok := jsonedit.Get(m.Elided(), "_meta")
	switch {
	case !ok:
		return m, nil
	case meta.Kind() == 'n':
		params, _ := jsonedit.Delete(m.Params, "_meta")
		return m.WithParams(params), nil
	}
	return m, checkMeta(meta)
}

// CheckMeta returns an *Error with ConditionInvalidParams if _meta is not an object or exceeds
// MaxMetaBytes, MaxMetaKeys in one object, or MaxMetaDepth.
func CheckMeta(params jsontext.Value) error {
	if meta, ok := jsonedit.Get(params, "_meta"); ok {
		return checkMeta(meta)
	}
	return nil
}

func checkMeta(meta jsontext.Value) error {
	switch {
	case meta.Kind() != '{':
		return InvalidParams("_meta is not an object")
	case len(meta) > MaxMetaBytes:
		return InvalidParams(fmt.Sprintf("_meta is larger than %d bytes", MaxMetaBytes))
	case !within(meta, MaxMetaDepth):
		return InvalidParams(
			fmt.Sprintf("_meta is deeper than %d or has more than %d members in one object", MaxMetaDepth,
				MaxMetaKeys),
		)
	}
	return nil
}

func within(v jsontext.Value, depth int) bool {
	switch v.Kind() {
	case '{':
		n := 0
		for m := range jsonedit.Members(v) {
			if n++; n > MaxMetaKeys || depth == 0 || !within(m.Value, depth-1) {
				return false
			}
		}
	case '[':
		for e := range jsonedit.Elements(v) {
			if depth == 0 || !within(e, depth-1) {
				return false
			}
		}
	}
	return true
}

// ProgressToken returns the progress token of a request as raw JSON, and whether there is one. 0
// and "" are valid tokens.
func ProgressToken(params jsontext.Value) (jsontext.Value, bool) {
	token, ok := jsonedit.Get(params, "_meta", MetaProgressToken)
	return token, ok && (token.Kind() == '"' || token.Kind() == '0')
}

// SetProgressToken returns params with another progress token. An empty token removes it.
func SetProgressToken(params, token jsontext.Value) jsontext.Value {
	if len(token) == 0 {
		params, _ = jsonedit.Delete(params, "_meta", MetaProgressToken)
		return params
	}
	changed, err := jsonedit.Set(params, token, "_meta", MetaProgressToken)
	if err != nil {
		return params // params or _meta is not an object, so the sender asked for no progress
	}
	return changed
}

// logLevels is ordered from least to most severe (RFC 5424).
var logLevels = [...]string{
	"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
}

// ValidLogLevel reports whether level is one of the eight levels of RFC 5424.
func ValidLogLevel(level string) bool { return severity(level) >= 0 }

// InvalidLogLevel returns the error of a request whose member is no log level.
func InvalidLogLevel(name, level string) *Error {
	return InvalidParams(name + ": " + quoted(level) + " is not a log level: want one of " +
		strings.Join(logLevels[:], ", "))
}

// AtLeast reports whether a message of that level passes the minimum level min. It is false if
// either level is unknown.
func AtLeast(level, min string) bool {
	return severity(level) >= 0 && severity(min) >= 0 && severity(level) >= severity(min)
}

func severity(level string) int {
	for i, l := range logLevels {
		if l == level {
			return i
		}
	}
	return -1
}

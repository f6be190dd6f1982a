package streamable

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"mcpd/protocol"
)

// checkContent accepts one uncompressed JSON body. Compression saves too little to justify the risk
// that a few bytes unpack to gigabytes.
func checkContent(r *http.Request) (refusal, string) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" &&
		!strings.EqualFold(encoding, "identity") {
		return badEncoding, "content encoding is not supported"
	}
	given := r.Header.Get("Content-Type")
	if given == "application/json" {
		return accepted, ""
	}
	// Parameters are ignored: JSON is UTF-8 whatever a charset says (RFC 8259 §11).
	media, _, err := mime.ParseMediaType(given)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || media != "application/json" {
		return badMediaType, "content type must be application/json"
	}
	return accepted, ""
}

// The media types of answers.
const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

// checkAccept requires that the client accepts each of the types. A missing Accept header accepts
// everything (RFC 9110 §12.5.1), and so do wildcards.
func checkAccept(r *http.Request, types ...string) (refusal, string) {
	for _, t := range types {
		if !accepts(r.Header["Accept"], t) {
			return badAccept, "accept must name " + strings.Join(types, " and ")
		}
	}
	return accepted, ""
}

func accepts(fields []string, media string) bool {
	if len(fields) == 0 {
		return true
	}
	family, _, _ := strings.Cut(media, "/")
	for _, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.TrimSpace(name)
			if (name == "*/*" || strings.EqualFold(name, media) || strings.EqualFold(name, family+"/*")) &&
				!refusedByQuality(params) {
				return true
			}
		}
	}
	return false
}

// refusedByQuality reports whether params contain the weight 0, which excludes a type.
func refusedByQuality(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			return strings.Trim(value, "0.") == "" && strings.HasPrefix(value, "0")
		}
	}
	return false
}

// maxSessionID limits the length of a session id that is looked up. Ids of this host are shorter; a
// longer one names no session.
const maxSessionID = 128

// sessionID returns the session id that the client sent, under either header name, and whether it
// sent one. It returns "" for an invalid id.
func sessionID(r *http.Request) (id string, given bool) {
	values := r.Header["Mcp-Session-Id"]
	if len(values) == 0 {
		// The name in the negotiation API; two different ids were refused before.
		values = r.Header["X-Mcp-Session-Id"]
	}
	if len(values) == 0 {
		return "", false
	}
	id = values[0]
	if len(id) > maxSessionID || strings.ContainsFunc(id, func(c rune) bool {
		return c < 0x21 || c > 0x7e
	}) {
		return "", true
	}
	return id, true
}

// checkVersion reads the version header. It accepts a missing header and refuses an unknown
// revision (2025-11-25 §basic/transports, "Protocol Version Header").
func checkVersion(r *http.Request, spoken protocol.Negotiation) (v protocol.Version, f refusal,
	detail string) {
	values := r.Header["Mcp-Protocol-Version"]
	if len(values) == 0 {
		return 0, accepted, ""
	}
	v, ok := protocol.ParseVersion(values[0])
	if !ok {
		return 0, badVersion, fmt.Sprintf("MCP-Protocol-Version %s is not a revision spoken here: "+
			"those are %s",
			quoted(values[0]), revisions(spoken))
	}
	return v, accepted, ""
}

// revisions lists the supported revisions, newest first.
func revisions(spoken protocol.Negotiation) string {
	var names []string
	for _, v := range slices.Backward(slices.Concat(spoken.Offered(protocol.Legacy),
		spoken.Offered(protocol.Modern))) {
		names = append(names, v.String())
	}
	return strings.Join(names, ", ")
}

package admin

import (
	"net/http"
	"strings"
)

// guarded lets a request through to its route if the caller may use the route. Reading is open on
// loopback, because anyone who can connect there can read the files of the process as well.
// Changing something always needs a token.
func (h *handler) guarded(r Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.Scope == Chaos && h.Faults == nil {
			problem(w, http.StatusForbidden, "this host does not accept faults", "start it with --chaos")
			return
		}
		switch h.access(req, r.Scope) {
		case http.StatusOK:
			r.Serve(w, req)
		case http.StatusForbidden:
			w.Header().Set("WWW-Authenticate",
				`Bearer realm="mcpd admin", error="insufficient_scope", scope="`+r.Scope.String()+`"`)
			problem(w, http.StatusForbidden, "the token lacks the scope "+r.Scope.String(),
				"use the token of that scope from the token file")
		case http.StatusUnauthorized:
			if len(req.Header.Values("Authorization")) > 0 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="mcpd admin", error="invalid_token"`)
				problem(w, http.StatusUnauthorized, "the token is not one of this host's",
					"a host has new tokens after each start: send Authorization: Bearer with one from the file "+
						"of this port in the runtime directory")
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="mcpd admin"`)
			problem(w, http.StatusUnauthorized, "a token is needed",
				"send Authorization: Bearer with a token from the file of this port in the runtime directory")
		}
	})
}

// access returns 200, 401 or 403. A wrong token is refused even where no token is needed, because
// its sender expects it to count.
func (h *handler) access(r *http.Request, need Scope) int {
	if need == Open {
		return http.StatusOK
	}
	sent := r.Header.Values("Authorization")
	if len(sent) == 0 {
		if need == Read && local(r) {
			return http.StatusOK
		}
		return http.StatusUnauthorized
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	if len(sent) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return http.StatusUnauthorized
	}
	have, ok := h.Tokens.scope(strings.TrimSpace(token))
	switch {
	case !ok:
		return http.StatusUnauthorized
	case !have.grants(need):
		return http.StatusForbidden
	}
	return http.StatusOK
}

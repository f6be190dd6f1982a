package supervisor

import (
	"net/http"
	"strings"
)

// path returns the path of a request below base_path. A proxy may have removed base_path from it.
func (s *settings) path(r *http.Request) string {
	return below(s.config.BasePath, r.URL.EscapedPath())
}

func below(base, path string) string {
	if rest, ok := strings.CutPrefix(path, base); ok && strings.HasPrefix(rest, "/") {
		return rest
	}
	return path
}

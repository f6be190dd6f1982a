package supervisor

import (
	"slices"
	"testing"

	"mcpd/transport/streamable"
)

// The dialect of a URL is forgotten when its server gets another URL, or is not configured any
// more.
func TestDialectsAreForgotten(t *testing.T) {
	h := hostOf("files", "search")
	files, search := serverName{"acme", "files"}, serverName{"acme", "search"}
	first := h.dialectOf(files, "http://a", false)
	if h.dialectOf(files, "http://a", false) != first {
		t.Error("one URL has two dialects")
	}
	kept := []*streamable.Dialect{
		h.dialectOf(search, "http://a", false), h.dialectOf(files, "http://b", false),
	}
	h.dialectOf(serverName{"acme", "removed"}, "http://a", false)
	h.dialectOf(serverName{"globex", "files"}, "http://a", false)
	all := h.dialects.values()
	if len(all) != len(kept) || !slices.Contains(all, kept[0]) || !slices.Contains(all, kept[1]) {
		t.Errorf("kept %v, want %v", all, kept)
	}
	if h.dialectOf(files, "http://b", false) != kept[1] {
		t.Error("one URL has two dialects")
	}
}

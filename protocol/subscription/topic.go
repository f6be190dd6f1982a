package subscription

import (
	"cmp"
	"iter"
	"strings"
)

// Any is the method of a topic that covers all methods.
const Any = "*"

// All is the method of a topic for whoever sees all servers as one. With Over it covers what any
// server says over such a connection, so that one topic does for any number of servers. Of the
// changes of lists it covers only those that name no server, which are told once for all servers.
const All = "+"

// Quarantined is the method that says that a server is quarantined. No client sees it.
const Quarantined = "mcpd/quarantined"

// ListChanged reports whether a method says that a list has changed.
func ListChanged(method string) bool { return strings.HasSuffix(method, "/list_changed") }

// updated is the one notification that is about a resource.
const updated = "notifications/resources/updated"

// Covers reports whether a subscription to a resource takes an update of another: the same, or one
// below it (2025-11-25 §server/resources, ResourceUpdatedNotification).
func Covers(subscribed, updated string) bool {
	return updated == subscribed ||
		strings.HasPrefix(updated, strings.TrimSuffix(subscribed, "/")+"/")
}

// Topic is what one can subscribe to, and what a notification is about. As a subscription an empty Server means any server, an empty URI
// any resource, and an empty Over any connection. As the subject of a notification they mean that it is about none in particular.
type Topic struct {
	Method string // of the notification, or Any, or All
	Server string // that it comes from
	URI    string // of the resource it is about
	// Over names the connection to the server, since different ones may be for different subscribers.
	Over string
}

// Compare orders topics.
func (t Topic) Compare(o Topic) int {
	return cmp.Or(strings.Compare(t.Method, o.Method), strings.Compare(t.Server, o.Server), strings.Compare(t.URI, o.URI),
		strings.Compare(t.Over, o.Over))
}

// maxParents bounds how many levels of a URI are looked at for subscriptions to a parent. Deeper ones have theirs, up to here.
const maxParents = 64

// covering goes through the topics whose subscribers want to hear about t. A subscription to a resource covers what is below it: the
// server may name a sub-resource of what was subscribed to (2025-11-25 schema, ResourceUpdatedNotification).
func (t Topic) covering() iter.Seq[Topic] {
	return func(yield func(Topic) bool) {
		uri, root, level := t.URI, root(t.URI), 0
		if t.Over != "" && (t.Server == "" || !ListChanged(t.Method)) && !yield(Topic{Method: All, Over: t.Over}) {
			return
		}
		for {
			for _, method := range [...]string{t.Method, Any} {
				switch {
				case !yield(Topic{Method: method, Server: t.Server, URI: uri}):
					return
				case t.Server != "" && !yield(Topic{Method: method, URI: uri}):
					return
				case t.Over != "" && !yield(Topic{Method: method, Server: t.Server, URI: uri, Over: t.Over}):
					return
				}
			}
			if uri == "" {
				return
			}
			if level++; t.Method != updated || level == maxParents {
				uri = ""
			} else {
				uri = parent(uri, root)
			}
		}
	}
}

// root is the length of what a URI has before its path: scheme and authority's mark.
func root(uri string) int {
	if i := strings.Index(uri, "://"); i >= 0 {
		return i + len("://")
	}
	return 0
}

// parent is the next level up: "a/b" is below "a/", which is below "a". Above the root there is the empty URI.
func parent(uri string, root int) string {
	i := strings.LastIndexByte(uri[root:], '/')
	switch {
	case i >= 0 && root+i < len(uri)-1:
		return uri[:root+i+1]
	case i > 0:
		return uri[:root+i]
	}
	return ""
}

package subscription

import (
	"cmp"
	"iter"
	"strings"
)

// Any is the method of a topic that covers all methods.
const Any = "*"

// All is the method of a topic for a subscriber that sees the merged list of all servers. Together
// with Connection, it covers the notifications of every server over such a connection, so that one
// topic suffices for any number of servers. Of the list changes it covers only those without a
// server, which are sent once for all servers.
const All = "+"

// Quarantined is the method of the internal notification that a server is quarantined. No client
// receives it.
const Quarantined = "mcpd/quarantined"

// ListChanged reports whether the method announces a change of a list.
func ListChanged(method string) bool { return strings.HasSuffix(method, "/list_changed") }

// updated is the only notification about a resource.
const updated = "notifications/resources/updated"

// Covers reports whether a subscription to one resource receives the updates of another: the same
// resource, or one below it (2025-11-25 §server/resources, ResourceUpdatedNotification).
func Covers(subscribed, updated string) bool {
	return updated == subscribed ||
		strings.HasPrefix(updated, strings.TrimSuffix(subscribed, "/")+"/")
}

// Topic is the object of a subscription, and the subject of a notification. In a subscription an
// empty Server stands for any server, an empty URI for any resource, and an empty Connection for
// any connection. In a notification an empty member means that the notification is about no
// particular one.
type Topic struct {
	Method string // of the notification, or Any, or All
	Server string // the server that sent the notification
	URI    string // the resource, or the id of a task
	// Connection names the connection to the server. Different subscribers may use different
	// connections.
	Connection string
}

// Compare orders topics.
func (t Topic) Compare(o Topic) int {
	return cmp.Or(strings.Compare(t.Method, o.Method), strings.Compare(t.Server, o.Server),
		strings.Compare(t.URI, o.URI),
		strings.Compare(t.Connection, o.Connection))
}

// maxParents bounds the levels of a URI that are searched for subscriptions to a parent. Of a
// deeper URI, only the levels nearest to the resource are searched.
const maxParents = 64

// covering iterates over the topics whose subscribers receive t. A subscription to a resource
// covers the resources below it, because a server may send an update of a sub-resource (2025-11-25
// schema, ResourceUpdatedNotification).
func (t Topic) covering() iter.Seq[Topic] {
	return func(yield func(Topic) bool) {
		uri, root, level := t.URI, root(t.URI), 0
		if t.Connection != "" && (t.Server == "" || !ListChanged(t.Method)) &&
			!yield(Topic{Method: All, Connection: t.Connection}) {
			return
		}
		for {
			for _, method := range [...]string{t.Method, Any} {
				switch {
				case !yield(Topic{Method: method, Server: t.Server, URI: uri}):
					return
				case t.Server != "" && !yield(Topic{Method: method, URI: uri}):
					return
				case t.Connection != "" &&
					!yield(Topic{Method: method, Server: t.Server, URI: uri, Connection: t.Connection}):
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

// root is the length of the scheme of a URI with its "://".
func root(uri string) int {
	if i := strings.Index(uri, "://"); i >= 0 {
		return i + len("://")
	}
	return 0
}

// parent returns the next level up: "a/b" is below "a/", which is below "a". Above the root it is
// the empty URI.
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

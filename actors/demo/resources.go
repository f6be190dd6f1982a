package demo

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// watchedURI is the resource that changes.
const watchedURI = "test://watched-resource"

// resource is a row of the table of resources.
type resource struct {
	uri, name, title, description, mimeType string
	// read returns the contents; touched is how often the watched resource was changed.
	read func(r resource, touched int) object
}

// resources are the resources in the order of resources/list. The first is a plain text, because
// conformance checkers read it.
var resources = []resource{
	{"test://static-text", "static-text", "Static text", "A text that never changes.", "text/plain",
		func(r resource, _ int) object {
			return textContents(r.uri, r.mimeType, "This is the content of the static text resource.")
		}},
	{"test://static-binary", "static-binary", "Static binary", "An image that never changes.",
		"image/png",
		func(r resource, _ int) object { return blobContents(r.uri, r.mimeType, pixelPNG) }},
	{watchedURI, "watched-resource", "Watched resource",
		"A text that changes when the tool touch_watched_resource is called.", "text/plain",
		func(r resource, touched int) object {
			return textContents(r.uri, r.mimeType,
				fmt.Sprintf("Version %d of the watched resource.", touched))
		}},
}

// template is a row of the table of resource templates. The variable is one path segment between
// prefix and suffix.
type template struct {
	prefix, variable, suffix           string
	name, title, description, mimeType string
	values                             []string // proposals of completion/complete for the variable
	read                               func(t template, uri, value string) object
}

var templates = []template{
	{"test://template/", "id", "/data", "template-data", "Data by id", "Data for the id in its URI.",
		"application/json", []string{"1", "12", "123"},
		func(t template, uri, id string) object {
			data := encode(object{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return textContents(uri, t.mimeType, string(data))
		}},
}

func (resource) changing() bool { return false }

func (template) changing() bool { return false }

func (t template) uriTemplate() string { return t.prefix + "{" + t.variable + "}" + t.suffix }

// match returns the value that the variable has in uri.
func (t template) match(uri string) (string, bool) {
	value, ok := strings.CutPrefix(uri, t.prefix)
	if !ok {
		return "", false
	}
	value, ok = strings.CutSuffix(value, t.suffix)
	if !ok || value == "" || strings.Contains(value, "/") {
		return "", false
	}
	value, err := url.PathUnescape(value)
	return value, err == nil
}

func (r resource) listed(bool) object {
	return object{
		"uri": r.uri, "name": r.name, "title": r.title, "description": r.description,
		"mimeType": r.mimeType,
	}
}

func (t template) listed(bool) object {
	return object{
		"uriTemplate": t.uriTemplate(), "name": t.name, "title": t.title, "description": t.description,
		"mimeType": t.mimeType,
	}
}

// readResource returns the contents of a resource, listed or made from a template.
func readResource(uri string, touched int) (object, bool) {
	if r, ok := findResource(uri); ok {
		return r.read(r, touched), true
	}
	for _, t := range templates {
		if value, ok := t.match(uri); ok {
			return t.read(t, uri, value), true
		}
	}
	return nil, false
}

func findResource(uri string) (resource, bool) {
	i := slices.IndexFunc(resources, func(r resource) bool { return r.uri == uri })
	if i < 0 {
		return resource{}, false
	}
	return resources[i], true
}

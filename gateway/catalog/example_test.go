package catalog_test

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
)

func Example() {
	files, search := catalog.Server{Name: "files"}, catalog.Server{Name: "search"}
	files.Items[catalog.Tools] = []jsontext.Value{jsontext.Value(`{"name":"read"}`)}
	search.Items[catalog.Tools] = []jsontext.Value{jsontext.Value(`{"name":"read"}`)}
	c := catalog.New([]catalog.Server{files, search})

	page, _ := c.List(catalog.Tools).Page("acme", "",
		func(_ string, item jsontext.Value) jsontext.Value {
			return item
		})
	fmt.Println(page)
	target, _ := c.Route("tools/call", jsontext.Value(`{"name":"search__read","arguments":{}}`), nil)
	fmt.Println(target.Server, target.Params)
	// Output:
	// {"tools":[{"name":"files__read"},{"name":"search__read"}]}
	// search {"name":"read","arguments":{}}
}

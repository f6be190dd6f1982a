package faults

var upstreamTruncate = Kind{
	Name: "upstream.truncate", CatalogueIDs: []string{"F33"}, Aim: AtServer, Partial: true,
	Needs:       NeedFaultPoints,
	Description: "messages of a server end in the middle",
	Params:      []Param{times("0")},
	Inject:      read("truncate"),
}

package faults

var upstreamDuplicate = Kind{
	Name: "upstream.duplicate", CatalogueIDs: []string{"F30"}, Aim: AtServer, Partial: true,
	Needs:       NeedFaultPoints,
	Description: "a server says things twice",
	Params:      []Param{times("0")},
	Inject:      read("duplicate"),
}

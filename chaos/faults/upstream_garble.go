package faults

var upstreamGarble = Kind{
	Name: "upstream.garble", CatalogueIDs: []string{"F33"}, Aim: AtServer, Partial: true,
	Needs:       NeedFaultPoints,
	Description: "messages of a server are no JSON, and nobody can tell which request they answer",
	Params:      []Param{times("0")},
	Inject:      read("garble"),
}

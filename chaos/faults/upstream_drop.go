package faults

var upstreamDrop = Kind{
	Name: "upstream.drop", CatalogueIDs: []string{"F29"}, Aim: AtServer, Partial: true,
	Needs:       NeedFaultPoints,
	Description: "messages of a server are lost, so that what was asked is never answered",
	Params:      []Param{times("0")},
	Inject:      read("drop"),
}

package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"

	"leakdiff/server/response"
)

//go:embed openapi.json
var openapiDocument []byte

// OpenAPI serves the OpenAPI 3.1 description of this API.
func (s *Service) OpenAPI(w http.ResponseWriter, r *http.Request) {
	body := openapiDocument
	if s.cfg.BaseURL != "" {
		at, err := json.Marshal(s.respond.Base(r))
		if err != nil {
			s.respond.FailAPI(w, r, err)
			return
		}
		body = bytes.Replace(body, []byte(`"url": "/"`), append([]byte(`"url": `), at...), 1)
	}
	response.Content{Kind: response.JSONType, Body: body}.Tagged(w, r)
}

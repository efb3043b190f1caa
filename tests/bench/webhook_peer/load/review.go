package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
)

const (
	wantPatch    = "patch"
	wantWarnings = "warnings"
	wantAllowed  = "allowed"
)

const hexDigits = "0123456789abcdef"

// review is a recorded body and where its request.uid stands.
type review struct {
	body       []byte
	start, end int
}

func readReview(file string) (*review, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &parsed); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	uid := []byte(parsed.Request.UID)
	if len(uid) == 0 || bytes.Count(body, uid) != 1 {
		return nil, fmt.Errorf("%s: request.uid is %q; it must be given and occur once", file, uid)
	}
	start := bytes.Index(body, uid)
	return &review{body: body, start: start, end: start + len(uid)}, nil
}

// fresh returns a copy of the body with a uid of its own, of the same length, and that uid.
func (r *review) fresh() ([]byte, string) {
	body := bytes.Clone(r.body)
	uid := body[r.start:r.end]
	for i := range uid {
		if uid[i] != '-' {
			uid[i] = hexDigits[rand.IntN(len(hexDigits))]
		}
	}
	return body, string(uid)
}

// answer holds the fields that are checked.
type answer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Response   *struct {
		UID       string   `json:"uid"`
		Allowed   bool     `json:"allowed"`
		Patch     []byte   `json:"patch"`
		PatchType string   `json:"patchType"`
		Warnings  []string `json:"warnings"`
	} `json:"response"`
}

// check does what the API server does (VerifyAdmissionResponse of k8s.io/apiserver@v0.36.3), then looks for what is
// wanted.
func check(status int, body []byte, uid, want string) error {
	if status != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", status, body)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("answer is not an AdmissionReview: %w", err)
	}
	switch {
	case a.APIVersion != "admission.k8s.io/v1" || a.Kind != "AdmissionReview":
		return fmt.Errorf("answer is a %s of %s", a.Kind, a.APIVersion)
	case a.Response == nil:
		return errors.New("answer has no response")
	case a.Response.UID != uid:
		return fmt.Errorf("response.uid is %q, not %q", a.Response.UID, uid)
	case (len(a.Response.Patch) > 0) != (a.Response.PatchType == "JSONPatch"):
		return fmt.Errorf("response.patch of %d bytes has patchType %q", len(a.Response.Patch), a.Response.PatchType)
	case !a.Response.Allowed:
		return errors.New("response.allowed is false")
	case want == wantPatch && len(a.Response.Patch) == 0:
		return errors.New("response.patch is empty")
	case want == wantWarnings && len(a.Response.Warnings) == 0:
		return errors.New("response.warnings is empty")
	}
	return nil
}

func validateWant(want string) error {
	switch want {
	case wantPatch, wantWarnings, wantAllowed:
		return nil
	}
	return fmt.Errorf("--want is %q; it must be patch, warnings or allowed", want)
}

// Compiles the CEL expressions of admission objects as an API server of an older minor version would when they are
// created: with the functions and variables that it knew, by upstream's own table of them.
//
//	cel 1.30 < objects.json    # a JSON list; prints a line for each expression that does not compile
//
// Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go, which validates what is created
// with environment.NewExpressions of the version before the API server's own.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// object is what policies and webhook configurations have in common as far as it is read.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec     admission.ValidatingAdmissionPolicySpec `json:"spec"`
	Webhooks []admission.ValidatingWebhook           `json:"webhooks"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: cel VERSION < objects.json")
	}
	server, err := version.ParseMajorMinor(os.Args[1])
	if err != nil {
		return err
	}
	var objects []object
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return err
	}
	known := environment.MustBaseEnvSet(server.SubtractMinor(1))
	for _, found := range objects {
		compiler, err := plugincel.NewCompositedCompiler(known)
		if err != nil {
			return err
		}
		checkPolicy(found, compiler)
		for _, webhook := range found.Webhooks {
			conditions(found.Metadata.Name+"/"+webhook.Name, webhook.MatchConditions, compiler, false)
		}
	}
	return nil
}

func checkPolicy(found object, compiler *plugincel.CompositedCompiler) {
	name, params := found.Metadata.Name, found.Spec.ParamKind != nil
	whole := plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true}
	message := plugincel.OptionalVariableDeclarations{HasParams: params}
	for _, variable := range found.Spec.Variables {
		accessor := &validating.Variable{Name: variable.Name, Expression: variable.Expression}
		tell(name, accessor, compiler.CompileAndStoreVariable(accessor, whole, environment.NewExpressions))
	}
	conditions(name, found.Spec.MatchConditions, compiler, params)
	for _, validation := range found.Spec.Validations {
		check(name, &validating.ValidationCondition{Expression: validation.Expression}, compiler, whole)
		if validation.MessageExpression != "" {
			expression := &validating.MessageExpressionCondition{MessageExpression: validation.MessageExpression}
			check(name, expression, compiler, message)
		}
	}
}

func conditions(name string, given []admission.MatchCondition, compiler *plugincel.CompositedCompiler, params bool) {
	declared := plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true}
	for _, condition := range given {
		check(name, (*matchconditions.MatchCondition)(&condition), compiler, declared)
	}
}

func check(
	name string,
	expression plugincel.ExpressionAccessor,
	compiler *plugincel.CompositedCompiler,
	declared plugincel.OptionalVariableDeclarations,
) {
	tell(name, expression, compiler.CompileCELExpression(expression, declared, environment.NewExpressions))
}

func tell(name string, expression plugincel.ExpressionAccessor, result plugincel.CompilationResult) {
	if result.Error != nil {
		fmt.Printf("%s: %s: %s\n", name, expression.GetExpression(), result.Error.Error())
	}
}

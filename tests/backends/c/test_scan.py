from opsdk.backends.c.scan import definitions, names_defined

TEXT = """
# 1 "/usr/include/stdint.h" 1 3
typedef int int32_t;
# 5 "relu.c" 2
int32_t relu_f32(const int *x, double (*f)(double));
static inline int helper(int a) { return relu_f32(0, 0); }
__attribute__((visibility("default"), optimize("O2"))) void
relu_f32 (const int *x,
          double (*f)(double)) {
  if (relu_f64(x)) { }
}
static int32_t relu_i32(int x) { return 0; } const char *message(int s) { return "{"; }
"""


def test_definitions_are_told_from_declarations_and_calls():
    found = definitions(TEXT, ["relu_f32", "relu_f64", "relu_i32", "message"])
    assert list(found) == ["relu_f32", "relu_i32", "message"]


def test_the_return_type_is_void_or_a_status():
    found = definitions(TEXT, ["relu_f32", "relu_i32"])
    assert (found["relu_f32"].returns, found["relu_i32"].returns) == ("void", "int32_t")


def test_static_functions_are_marked():
    found = definitions(TEXT, ["relu_f32", "relu_i32"])
    assert (found["relu_f32"].static, found["relu_i32"].static) == (False, True)


def test_the_text_is_the_declaration_on_one_line():
    found = definitions(TEXT, ["relu_f32", "message"])
    assert found["relu_f32"].text == "void relu_f32 (const int *x, double (*f)(double))"
    assert found["message"].text == "const char * message(int s)"


def test_a_pointer_to_void_is_no_void():
    assert definitions("void *f(int x) { return 0; }", ["f"])["f"].returns == "int32_t"


def test_a_text_that_ends_within_brackets_has_no_definition():
    assert definitions("int f(int x", ["f"]) == {}


def test_the_functions_of_a_source_are_named_for_a_message():
    source = '#include "a.h"\n/* int no(void) {} */\n// int no2() {}\n'
    source += "int a(int x) { if (x) { b(x); } return c(x); }\nvoid d(){}"
    assert names_defined(source) == ("a", "d")

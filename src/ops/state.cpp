// ReadValue and Assign: variables that keep their value between inference runs.
#include <graft/op.hpp>

namespace graft {
namespace {

struct StateVariable {
  std::string variable_id;
  static constexpr std::tuple schema{
      attr("variable_id", &StateVariable::variable_id, "name of the variable").required()};
};
struct TypedStateVariable : StateVariable {
  DType variable_type = DType::undefined;
  Shape variable_shape = Shape::unknown();
  static constexpr auto schema = std::tuple_cat(
      StateVariable::schema,
      std::tuple{attr("variable_type", &TypedStateVariable::variable_type, "element type of the variable"),
                 attr("variable_shape", &TypedStateVariable::variable_shape, "shape of the variable")});
};

void read_value3_infer(Infer& ctx, const StateVariable&) { ctx.output(0, ctx.input(0)); }

void read_value_infer(Infer& ctx, const TypedStateVariable& a) {
  if (!ctx.has_input(0)) return ctx.output(0, a.variable_type, a.variable_shape);
  Info first = ctx.input(0);
  if (a.variable_type != DType::undefined && first.type != DType::undefined && first.type != a.variable_type)
    fail("expected an initial value of type ", a.variable_type, " for the variable '", a.variable_id, "', got ",
         first.type);
  if (a.variable_type == DType::undefined && !a.variable_shape.ranked()) return ctx.output(0, first);
  merge(a.variable_shape, first.shape);
  ctx.output(0, a.variable_type == DType::undefined ? first.type : a.variable_type, a.variable_shape);
}

// Reads the value assigned last, or the initial value before that. False if there is neither.
bool state_read(Run& ctx, const std::string& id) {
  TensorView value = ctx.variable(id);
  if (!value && ctx.has_input(0)) value = ctx.input(0);
  if (!value) return false;
  DType wanted = ctx.output(0).type();
  if (value.type() != wanted)
    fail("expected a value of type ", wanted, " in the variable '", id, "', got ", value.type());
  ctx.allocate(0, value.dims()).assign(value);
  return true;
}
void read_value3_run(Run& ctx, const StateVariable& a) { state_read(ctx, a.variable_id); }
void read_value_run(Run& ctx, const TypedStateVariable& a) {
  if (state_read(ctx, a.variable_id)) return;
  if (!a.variable_shape.is_static())
    fail("the variable '", a.variable_id, "' has no value yet, and its shape is unknown");
  OutputView y = ctx.output(0);
  y.assign(std::vector<double>(static_cast<size_t>(y.size()), 0));
}

void assign_infer(Infer& ctx, const StateVariable&) { ctx.output(0, ctx.input(0)); }
void assign_run(Run& ctx, const StateVariable& a) {
  ctx.set_variable(a.variable_id, ctx.input(0));
  ctx.output(0).assign(ctx.input(0));
}

}  // namespace

Definitions define_state() {
  auto assign = [](int version) {
    return op<StateVariable>("Assign", version)
        .doc("Assign a value to a variable, to be read in the next run")
        .inputs("new_value")
        .infer(assign_infer)
        .reference(assign_run)
        .sink();
  };
  return {
      op<StateVariable>("ReadValue", 3)
          .doc("Value of a variable, or the initial value if nothing has been assigned yet")
          .inputs("init_value")
          .infer(read_value3_infer)
          .reference(read_value3_run)
          .impure(),
      op<TypedStateVariable>("ReadValue", 6)
          .doc("Value of a variable, or the initial value (zeros if omitted) if nothing has been assigned yet")
          .inputs("init_value?")
          .infer(read_value_infer)
          .reference(read_value_run)
          .impure(),
      assign(3),
      assign(6),
  };
}

}  // namespace graft

// Results and options list their members once; remedies in texts.
#include <graft/app/check.hpp>
#include <graft/toolkit.hpp>

#include "base/error.hpp"
#include "import/importer.hpp"
#include "toolkit.hpp"

namespace graft {
namespace {

// ---- no member is forgotten ----

template <class T>
constexpr bool is_optional_member = false;
template <class T>
constexpr bool is_optional_member<std::optional<T>> = true;
// Becomes a member of any type.
struct AnyMember {
  template <class T>
  requires(!is_optional_member<T>) operator T() const;
};
template <class T, class... Any>
constexpr size_t member_count() {
  if constexpr (requires { T{std::declval<Any>()..., AnyMember{}}; }) return member_count<T, Any..., AnyMember>();
  else if constexpr (requires { T{std::declval<Any>()..., std::nullopt}; })
    return member_count<T, Any..., std::nullopt_t>();
  else return sizeof...(Any);
}
// Fields that are functions are derived from the others.
template <class T>
constexpr size_t listed() {
  return std::apply(
      [](const auto&... f) {
        return (size_t{std::is_member_object_pointer_v<std::remove_cvref_t<decltype(f.member)>>} + ...);
      },
      T::fields);
}
template <class... T>
constexpr bool lists_all = ((member_count<T>() == listed<T>()) && ...);

static_assert(lists_all<PassInfo, PassEffect, Unfolded, Choice, ModelPart, Crossing, Explanation, ProfilingInfo>);
static_assert(lists_all<UnknownType, UnknownType::Layer, Claim, RawPassEffect, Report>);
static_assert(lists_all<F16Report, F16Report::Loss, ConvertReport, LayerSupport, QueryResult>);
static_assert(lists_all<AttributeInfo, OpPortInfo, KernelInfo, RuleInfo, OpInfo, ExtensionInfo>);
static_assert(lists_all<CheckFinding, CheckedKernel, CheckedOperation, ReplacementMatch>);
// Its error has no default.
static_assert(member_count<Problem, AnyMember, AnyMember, AnyMember>() == listed<Problem>());

// Every member of ReadOptions has a row; those of CutRequest are rows of its own.
template <class T>
constexpr size_t rows = std::tuple_size_v<std::remove_cvref_t<decltype(T::options)>>;
static_assert(member_count<ReadOptions>() == rows<ReadOptions> && member_count<CutRequest>() == rows<CutRequest>);
static_assert(member_count<Preprocessing>() == rows<Preprocessing>);
static_assert(member_count<ConvertOptions>() == rows<ConvertOptions> + 1);  // progress is a function

// A field that is added to a result is one row more: what shows results sees names and values alone.
struct Toy {
  std::string name;
  std::vector<size_t> sizes;
  bool twice() const { return sizes.size() == 2; }
  static constexpr std::tuple fields{field("name", &Toy::name, "a name"), field("sizes", &Toy::sizes, "numbers"),
                                     field("twice", &Toy::twice, "whether there are two")};
};
TEST(Results, FieldsAreVisitedInOrder) {
  std::string seen;
  each_field(Toy{"n", {1, 2}}, [&](const auto& f, const auto& value) {
    seen += f.name;
    if constexpr (requires { text(value); }) seen += text('=', value, ' ');
  });
  EXPECT_EQ(seen, "name=n sizes=[1,2] twice=true ");
}

TEST(Results, NamesAreUnique) {
  std::set<std::string> names;
  ConvertOptions convert;
  ReadOptions read;
  read.cut.batch = 3;
  size_t count = 0, given = 0;
  each_option(convert, [&](const auto& row, const auto&) { names.insert(row.name), ++count; });
  EXPECT_EQ(names.size(), count);
  names.clear(), count = 0;
  each_option(read, [&](const auto& row, const auto& value) {
    names.insert(row.name), ++count;
    given += is_given(value);
  });
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(given, 1u);
  EXPECT_TRUE(names.count("batch") && names.count("shapes"));
}

// ---- remedies ----

TEST(Remedies, AreFoundInTexts) {
  Remedy odd{"shapes", "a]b`c", "[1,?]"};
  std::string hint = text("set it with ", odd, " or `batch`, not `this one or 'a`b'");
  std::vector<Remedy> found = remedies_in(hint);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].option, "shapes");
  EXPECT_EQ(found[0].place, "a]b`c");
  EXPECT_EQ(found[0].value, "[1,?]");
  EXPECT_EQ(found[1].option, "batch");
  EXPECT_TRUE(found[1].place.empty() && found[1].value.empty());
  auto flags = [](const Remedy& r) -> std::optional<std::string> {
    if (r.option == "batch") return "-b";
    return std::nullopt;
  };
  EXPECT_EQ(reworded(hint, flags), text("set it with ", odd, " or -b, not `this one or 'a`b'"));
  EXPECT_EQ(reworded("", flags), "");
  EXPECT_EQ(reworded("`", flags), "`");
  EXPECT_EQ(reworded("``batch`", flags), "`-b");
}

TEST(Remedies, GiveErrorsOfExtensionsTheirCode) {
  EXPECT_EQ(coded_error(ErrorKind::unsupported, "m", "set the shapes with `shapes`").code(), ErrorCode::shape_needed);
  EXPECT_EQ(coded_error(ErrorKind::unsupported, "m", "raise `limits[nodes]=VALUE`").code(), ErrorCode::limit_reached);
  EXPECT_EQ(coded_error(ErrorKind::user, "`shapes`", "set `shapes[x]=[1]`").code(), ErrorCode::other);
}

using ReadingErrors = ToolkitTest;
TEST_F(ReadingErrors, OptionsOfOtherFrameworksAreRefused) {
  ReadOptions options;
  options.remove_output_softmax = true;
  std::string path = file("net.prototxt", "layer { name: \"x\" type: \"Input\" top: \"x\" }");
  try {
    Core().read_model({path}, options);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::request);
    EXPECT_EQ(e.message(), "`remove_output_softmax` applies only to models of Kaldi, got a model of Caffe");
  }
}

TEST_F(ReadingErrors, StrictReadingRefusesWarnings) {
  std::string path = file("m.graph", "graph (x: f32[2], z: f32[2]) { a = Relu(x) b = Exp(z) return a, b }");
  ReadOptions options;
  options.cut.inputs = {{.place = "x"}, {.place = "z"}};
  options.cut.outputs = {"a"};
  EXPECT_EQ(Core().read_model({path}, options).report().warnings.size(), 1u);
  options.strict = true;
  try {
    Core().read_model({path}, options);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.message().find("reading the model gives 1 warning: no output depends on 'z'"), 0u) << e.message();
  }
}

TEST_F(ReadingErrors, LimitsHaveACode) {
  ReadOptions options;
  options.limits = {{"nodes", 1}};
  std::string layers;
  for (int i = 0; i < 8; ++i)
    layers += text("layer { name: \"r", i, "\" type: \"ReLU\" bottom: \"x\" top: \"r", i, "\" }\n");
  std::string path = file("net.prototxt", "layer { name: \"x\" type: \"Input\" top: \"x\" }\n" + layers);
  try {
    Core().read_model({path}, options);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::limit_reached);
    ASSERT_EQ(e.remedies().size(), 1u);
    EXPECT_EQ(e.remedies()[0].option, "limits");
    EXPECT_EQ(e.remedies()[0].place, "nodes");
  }
}

}  // namespace
}  // namespace graft

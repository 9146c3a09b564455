// The safetensors reader and writer: round trips, and every way a file can be wrong.
#include "safetensors/safetensors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "jfa/error.hpp"

namespace jfa::safetensors {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, removed with what is in it.
class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest() { fs::create_directories(folder_); }
  ~SafetensorsTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "x.safetensors") const { return folder_ / name; }

  /// A file of the header's length, the header and `data_bytes` bytes of data.
  std::string write_raw(const std::string& header, std::size_t data_bytes) const {
    const std::uint64_t length = header.size();
    std::string bytes(sizeof(length), '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    return write_bytes(bytes + header + std::string(data_bytes, '\0'));
  }

  std::string write_bytes(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }

  /// Message of the Error that opening the file ends in; "" when there is none.
  static std::string open_error(const std::string& file) {
    try {
      const File opened(file);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  void expect_refused(const std::string& header, std::size_t data_bytes,
                      const std::string& message) const {
    const std::string error = open_error(write_raw(header, data_bytes));
    EXPECT_NE(error.find(message), std::string::npos) << header << "\n  gives: " << error;
    EXPECT_EQ(error.find(path()), 0U) << error;
  }

  /// As expect_refused, with one tensor `x` of F32 and the other fields as given.
  void expect_tensor_refused(const std::string& shape, const std::string& offsets,
                             std::size_t data_bytes, const std::string& message) const {
    expect_refused(
        R"({"x":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
        data_bytes, message);
  }

 private:
  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("safetensors_" + std::to_string(getpid()) + "_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(SafetensorsTest, RoundTripsEveryType) {
  for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32, DType::kI32, DType::kI64}) {
    HostTensor tensor(dtype, {2, 3, 4});
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i) - 5);
    HostTensor odd(DType::kBf16, {3});
    odd.fill(1.5);
    write(path(), {{"tensor", &tensor}, {"odd", &odd}});
    const File file(path());
    EXPECT_EQ(file.entries().size(), 2U);
    const HostTensor read = file.read("tensor", 3, 3);
    EXPECT_EQ(read.dtype(), dtype);
    EXPECT_EQ(read.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(read.data(), tensor.data(), tensor.bytes()), 0);
    EXPECT_EQ(file.read("odd", 1, 1).at(2), 1.5);
  }
}

TEST_F(SafetensorsTest, KeepsEmptyTensorsAndScalars) {
  const HostTensor empty(DType::kF32, {0, 4, 64});
  HostTensor scalar(DType::kI64, {});
  scalar.set(0, 7);
  write(path(), {{"empty", &empty}, {"scalar", &scalar}});
  const File file(path());
  EXPECT_EQ(file.read("empty", 3, 3).shape(), empty.shape());
  EXPECT_EQ(file.read("scalar", 0, 0).at(0), 7);
}

TEST_F(SafetensorsTest, WritesAlignedDataThatFollowsThePaddedHeader) {
  HostTensor narrow(DType::kBf16, {3});
  HostTensor wide(DType::kI64, {1});
  narrow.fill(0);
  wide.fill(0);
  write(path(), {{"a_narrow", &narrow}, {"b_wide", &wide}});
  std::ifstream file(path(), std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(fs::file_size(path()), 8 + length + 14);
  EXPECT_EQ(File(path()).entries().at("b_wide").begin, 0U);
  EXPECT_EQ(File(path()).entries().at("a_narrow").begin, 8U);
}

TEST_F(SafetensorsTest, ReplacesAFileWholeAndKeepsLinks) {
  HostTensor tensor(DType::kF32, {1});
  tensor.fill(1);
  std::ofstream(path("target")) << "old";
  fs::create_symlink(path("target"), path("link"));
  write(path("link"), {{"x", &tensor}});
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(File(path("target")).read("x", 1, 1).at(0), 1);
  const auto entries = fs::directory_iterator(fs::path(path()).parent_path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2) << "a temporary file is left";
}

TEST_F(SafetensorsTest, AFullDiskIsAnError) {
  HostTensor tensor(DType::kF32, {1});
  tensor.fill(1);
  try {
    write("/dev/full", {{"x", &tensor}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/dev/full: cannot write: No space left on device");
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(SafetensorsTest, AFolderThatIsNotThereIsAnError) {
  const HostTensor tensor(DType::kF32, {0});
  try {
    write(path("no/such/file"), {{"x", &tensor}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), path("no/such/file") + ": cannot create: No such file or directory");
  }
}

TEST_F(SafetensorsTest, AcceptsMetadataAndTrailingSpaces) {
  const std::string file = write_raw(
      R"({"__metadata__":{"format":"pt"},"x":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}   )",
      3);
  EXPECT_EQ(open_error(file), "");
  EXPECT_EQ(File(file).entries().size(), 1U);
}

TEST_F(SafetensorsTest, RefusesATensorItCannotReadOnlyWhenAsked) {
  const File file(write_raw(R"({"x":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},)"
                            R"("y":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}})",
                            7));
  EXPECT_EQ(file.read("y", 1, 1).at(0), 0);
  const auto message = [&](const char* name, std::size_t min_rank, std::size_t max_rank) {
    try {
      file.read(name, min_rank, max_rank);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what()).substr(path().size());
    }
  };
  EXPECT_EQ(message("x", 1, 1),
            R"(: tensor "x" has dtype "F8_E4M3", must be BF16, F16, F32, I32 or I64)");
  EXPECT_EQ(message("z", 1, 1), R"(: has no tensor "z")");
  EXPECT_EQ(message("y", 3, 3), R"(: tensor "y" has shape [1], must have 3 dimensions)");
  EXPECT_EQ(message("y", 2, 3), R"(: tensor "y" has shape [1], must have 2 to 3 dimensions)");
}

TEST_F(SafetensorsTest, RefusesWhatIsNoFile) {
  EXPECT_EQ(open_error(path("missing")),
            path("missing") + ": cannot open: No such file or directory");
  EXPECT_EQ(open_error(testing::TempDir()), testing::TempDir() + ": is not a regular file");
  EXPECT_EQ(open_error("/dev/zero"), "/dev/zero: is not a regular file");
}

TEST_F(SafetensorsTest, RefusesShortFilesAndHugeHeaders) {
  EXPECT_NE(open_error(write_bytes("")).find("has 0 bytes"), std::string::npos);
  EXPECT_NE(open_error(write_bytes("1234567")).find("has 7 bytes"), std::string::npos);
  const std::string huge(8, '\xff');
  EXPECT_NE(open_error(write_bytes(huge)).find("header length is 18446744073709551615"),
            std::string::npos);
  const std::string past_end("\x03\0\0\0\0\0\0\0{}", 10);
  EXPECT_NE(open_error(write_bytes(past_end)).find("header length is 3, must be at most 2"),
            std::string::npos);
  const std::string empty(8, '\0');
  EXPECT_NE(open_error(write_bytes(empty)).find("must begin with {"), std::string::npos);
}

TEST_F(SafetensorsTest, RefusesTruncationAtEveryByte) {
  HostTensor tensor(DType::kF32, {5});
  tensor.fill(2);
  write(path(), {{"x", &tensor}});
  const auto size = fs::file_size(path());
  for (std::uintmax_t bytes = 0; bytes < size; ++bytes) {
    fs::copy_file(path(), path("cut"), fs::copy_options::overwrite_existing);
    fs::resize_file(path("cut"), bytes);
    EXPECT_NE(open_error(path("cut")), "") << bytes << " of " << size << " bytes";
  }
}

TEST_F(SafetensorsTest, RefusesWhatIsNotJson) {
  expect_refused("{", 0, "not valid JSON");
  expect_refused(R"({"x":)", 0, "not valid JSON");
  expect_refused("{}}", 0, "not valid JSON");
  expect_refused(" {}", 0, "must begin with {");
  expect_refused("[]", 0, "must begin with {");
  expect_refused("{\"\xff\":1}", 0, "not valid JSON");
  expect_tensor_refused("[NaN]", "[0,4]", 4, "not valid JSON");
  expect_tensor_refused("[1e999]", "[0,4]", 4, "not valid JSON");
  expect_refused("{\"a\":" + std::string(100'000, '['), 0, "an array");
  expect_refused(std::string(100'000, '{'), 0, "not valid JSON");
}

TEST_F(SafetensorsTest, RefusesOtherJson) {
  expect_refused(R"({"x":1})", 0, "it holds 1, must be an object of tensors");
  expect_refused(R"({"x":null})", 0, "it holds null");
  expect_refused(R"({"x":[]})", 0, "it holds an array");
  expect_refused(R"({"__metadata__":{"a":1}})", 0, "__metadata__ holds 1, must hold strings");
  expect_refused(R"({"__metadata__":{"a":{}}})", 0, "__metadata__ holds an object");
  expect_refused(R"({"x":{}})", 0, R"(tensor "x" lacks one of dtype, shape and data_offsets)");
  expect_refused(R"({"x":{"dtype":"F32","shape":[0]}})", 0, "lacks one of");
  expect_refused(R"({"x":{"strides":[1]}})", 0, R"(tensor "x" has a field "strides")");
  expect_refused(R"({"x":{"dtype":4}})", 0, R"(tensor "x" has 4 in its dtype)");
  expect_refused(R"({"x":{"dtype":[1]}})", 0, R"(tensor "x" has an array in its dtype)");
  expect_refused(R"({"x":{"shape":"[1]"}})", 0, R"(tensor "x" has "[1]" in its shape)");
  expect_refused(R"({"x":{"shape":{}}})", 0, R"(tensor "x" has an object in its shape)");
  expect_refused(R"({"x":{"dtype":"F32","dtype":"F32"}})", 0, R"(has "dtype" twice)");
  const std::string tensor = R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_refused("{" + tensor + "," + tensor + "}", 4, R"("x" is there twice)");
}

TEST_F(SafetensorsTest, RefusesBadNumbers) {
  expect_tensor_refused("[-1]", "[0,4]", 4, "has -1 in its shape");
  expect_tensor_refused("[1.0]", "[0,4]", 4, "has 1.0 in its shape");
  expect_tensor_refused("[true]", "[0,4]", 4, "has true in its shape");
  expect_tensor_refused("[[1]]", "[0,4]", 4, "has an array in its shape");
  expect_tensor_refused("[1]", "[0]", 4, "has 1 data_offsets, must have 2");
  expect_tensor_refused("[1]", "[0,4,4]", 4, "has 3 data_offsets, must have 2");
  expect_tensor_refused("[1]", "[-4,0]", 4, "has -4 in its data_offsets");
  expect_tensor_refused("[1]", "[0,18446744073709551615]", 4, "has 18446744073709551615");
  expect_tensor_refused("[1]", "[0,99999999999999999999999]", 4, "has 99999999999999999999999");
}

TEST_F(SafetensorsTest, RefusesRangesThatDoNotCoverTheData) {
  expect_tensor_refused("[1]", "[4,0]", 4, "must begin before it ends");
  expect_tensor_refused("[2]", "[0,8]", 4, "the file holds 4 bytes of data");
  expect_tensor_refused("[1]", "[0,9223372036854775807]", 4, "the file holds 4 bytes of data");
  expect_tensor_refused("[1]", "[4,8]", 8, "must begin at 0: no gaps");
  expect_tensor_refused("[1]", "[0,4]", 8, "end at byte 4 of the data, the file holds 8");
  expect_refused("{}", 1, "end at byte 0 of the data, the file holds 1");
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"x":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
           R"(},"y":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(open_error(write_raw(two("[4,8]", "[0,4]"), 8)), "");
  expect_refused(two("[0,4]", "[3,7]"), 7,
                 R"(tensor "y" has data_offsets [3, 7], must begin at 4)");
  expect_refused(two("[0,4]", "[0,4]"), 4, "must begin at 4");
  expect_refused(two("[0,4]", "[5,9]"), 9, "must begin at 4");
}

TEST_F(SafetensorsTest, RefusesShapesThatDisagreeWithTheData) {
  expect_tensor_refused("[2]", "[0,4]", 4, "its shape and dtype need 8 bytes");
  expect_tensor_refused("[]", "[0,0]", 0, "its shape and dtype need 4 bytes");
  expect_tensor_refused("[0]", "[0,4]", 4, "its shape and dtype need 0 bytes");
  const std::string overflow = R"(the shape of tensor "x" exceeds 2^60 elements)";
  expect_tensor_refused("[4294967296,4294967296]", "[0,0]", 0, overflow);
  expect_tensor_refused("[0,4294967296,4294967296]", "[0,0]", 0, overflow);
  expect_tensor_refused("[9223372036854775807]", "[0,4]", 4, overflow);
}

TEST_F(SafetensorsTest, NamesFromAFileAreSafeToPrint) {
  const std::string header = R"({"\u001b[31m\n":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})";
  const std::string error = open_error(write_raw(header, 8));
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace jfa::safetensors

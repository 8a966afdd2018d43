// Keeps what a location of any scheme (s3://bucket/key, hdfs://name/path) names in one local folder, so that tables can
// be created wherever a test wants them to be, and are still there after a restart.
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.io.SeekableInputStream;

public final class FolderFileIO implements FileIO {
  static final String FOLDER = "folder";
  private Map<String, String> properties = Map.of();

  @Override
  public void initialize(Map<String, String> given) {
    properties = Map.copyOf(given);
  }

  @Override
  public Map<String, String> properties() {
    return properties;
  }

  @Override
  public InputFile newInputFile(String location) {
    return new In(location, org.apache.iceberg.Files.localInput(fileOf(location).toFile()));
  }

  @Override
  public OutputFile newOutputFile(String location) {
    return new Out(location, org.apache.iceberg.Files.localOutput(fileOf(location).toFile()), newInputFile(location));
  }

  @Override
  public void deleteFile(String location) {
    try {
      Files.deleteIfExists(fileOf(location));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private Path fileOf(String location) {
    URI uri = URI.create(location);
    String scheme = uri.getScheme() == null ? "none" : uri.getScheme();
    String authority = uri.getAuthority() == null ? "none" : uri.getAuthority();
    Path root = Path.of(properties.get(FOLDER));
    Path file = root.resolve(scheme).resolve(authority).resolve(uri.getPath().replaceFirst("^/+", "")).normalize();
    if (!file.startsWith(root)) throw new IllegalArgumentException("outside of the warehouse: " + location);
    return file;
  }

  // Iceberg writes down where a file says that it is, so the files answer with the location they were asked for.
  private record In(String location, InputFile file) implements InputFile {
    @Override
    public long getLength() {
      return file.getLength();
    }

    @Override
    public SeekableInputStream newStream() {
      return file.newStream();
    }

    @Override
    public boolean exists() {
      return file.exists();
    }
  }

  private record Out(String location, OutputFile file, InputFile input) implements OutputFile {
    @Override
    public PositionOutputStream create() {
      return file.create();
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      return file.createOrOverwrite();
    }

    @Override
    public InputFile toInputFile() {
      return input;
    }
  }
}

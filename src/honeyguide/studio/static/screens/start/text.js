// What people type and upload, as the server wants it.
const LARGEST = 10_000_000;

// One entry a line; blank ones and comments go.
export function lines(text) {
  return text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
}

// Separated by commas or line ends.
export function words(text) {
  return text.split(/[,\n]/).map((word) => word.trim()).filter(Boolean);
}

// Files as {name, content}, base64; too much is refused before it is sent.
export async function encoded(files) {
  const all = [...files];
  if (all.reduce((sum, file) => sum + file.size, 0) > LARGEST) {
    throw new Error("These files are larger than 10 MB together. Choose fewer, or smaller ones.");
  }
  return Promise.all(all.map(async (file) => ({ name: file.name, content: await base64(file) })));
}

function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => failed(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

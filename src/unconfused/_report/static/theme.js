/* Light or dark, as the system has it or as chosen here: for the report and the review page. */
function setUpTheme() {
  const button = byId("theme"), root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => { try { return localStorage.getItem("unconfused-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const show = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  if (remembered() === "dark" || remembered() === "light") root.dataset.theme = remembered();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("unconfused-theme", root.dataset.theme); } catch { /* not kept */ }
    show();
  });
  prefersDark.addEventListener("change", show);
  button.hidden = false;
  show();
}

setUpTheme();

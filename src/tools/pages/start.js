// Operations are tried on the service that shows the page, wherever it listens; nothing else may be called from here.
window.addEventListener("load", async () => {
  const spec = await (await fetch("/openapi.json")).json();
  spec.servers = [{ url: window.location.origin }];
  window.SwaggerUIBundle({ spec, dom_id: "#swagger-ui", deepLinking: true });
});
